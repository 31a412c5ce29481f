// Where the gateways of one test file spool, unless it says otherwise: never in the folder that the tests were started in.
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = join(tmpdir(), `oncegate-spool-${process.pid}`)
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

/** A line for the configuration, or nothing where it has one. */
export function spoolSetting(top: string): string {
  return /^spool:/m.test(top) ? '' : `spool: ${folder}`
}
