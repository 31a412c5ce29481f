// A directory of a test's own, gone at its end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function temporaryDirectory(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'oncegate-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}
