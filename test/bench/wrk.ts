// Load by wrk, which costs a few microseconds a request: what is measured is the gateway, not the client.
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Load } from './load.ts'

export function wrkIsThere(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined
}

let scripts = 0

/** Requests answered per second, by wrk on the given core. Rejects on any status but 2xx and 3xx. */
export async function loadByWrk(load: Load, { core, folder }: { core: string; folder: string }): Promise<number> {
  const script = join(folder, `${scripts++}.lua`)
  writeFileSync(script, luaOf(load))
  const args = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '-s', script, `http://127.0.0.1:${load.port}`]
  const child = spawn('taskset', ['-c', core, 'wrk', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const chunk of child.stdout) output += String(chunk)
  const rate = /Requests\/sec:\s*([\d.]+)/.exec(output)?.[1]
  if (rate === undefined || /Non-2xx|Socket errors/.test(output)) throw new Error(`wrk: ${output}`)
  return Number(rate)
}

/** A key is never asked for twice: neither in this script nor by another run of it. */
function luaOf({ request, keys }: Load): string {
  // Lua reads these escapes as JSON writes them.
  const [head, tail] = request('\0')
    .split('\0')
    .map((text) => JSON.stringify(text))
  if (keys === 'one') return `local text = ${head} .. "the-same-key" .. ${tail}\nrequest = function() return text end\n`
  const prefix = `${Date.now()}-${scripts}-`
  return `local n = 0\nrequest = function()\n  n = n + 1\n  return ${head} .. "${prefix}" .. n .. ${tail}\nend\n`
}
