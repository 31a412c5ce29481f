// A real Chromium, as the test command has installed it, driven over its debugging pipe.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** Fails where there is none: `npm test` installs one, or says how. */
export async function startChromium(): Promise<Browser> {
  // As root there is no sandbox, and containers are short of shared memory.
  const args = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage']
  return chromium.launch({ executablePath: found(), args, timeout: 30_000 })
}

function found(): string {
  const named = process.env.CHROMIUM
  if (named?.includes('/')) return named
  for (const name of [named || 'chromium', 'google-chrome']) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // Not here.
      }
    }
  }
  throw new Error('no Chromium on the PATH; CHROMIUM=/path/to/chrome names one (see test/install-servers.sh)')
}
