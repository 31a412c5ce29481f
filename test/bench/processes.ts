// The processes of a benchmark: the gateway has one core to itself; load, upstream and Redis share the other.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../helpers/until.ts'

export const [GATEWAY_CORE, OTHER_CORE] = availableParallelism() > 1 ? (['0', '1'] as const) : (['0', '0'] as const)

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export interface Running {
  readonly url: string
  readonly pid: number
}

export class Bench {
  readonly #children: ChildProcess[] = []
  /** Gone with the benchmark. */
  readonly folder = mkdtempSync(join(tmpdir(), 'oncegate-bench-'))

  constructor() {
    spawn('taskset', ['-apc', OTHER_CORE, String(process.pid)], { stdio: 'ignore' })
  }

  /** A program beside this file, on the core that is not the gateway's. */
  other(program: string): Promise<Running> {
    return this.#node(OTHER_CORE, [here(program)])
  }

  bare(upstream: string): Promise<Running> {
    return this.#node(GATEWAY_CORE, [here('bare-proxy.js'), upstream])
  }

  /** Guards `/guarded` by key. */
  gateway(upstream: string, store: string): Promise<Running> {
    const file = join(this.folder, `${store.replace(/\W+/g, '-')}.yaml`)
    writeFileSync(
      file,
      `upstream: ${upstream}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstore: "${store}"\nrules:\n  - name: bench\n    match: { path: /guarded }\n    fingerprint: { key: header.idempotency-key }\n`,
    )
    return this.#node(GATEWAY_CORE, [here('../../src/main.js'), 'start', '--config', file])
  }

  close(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Its output goes to a file: a pipe that the busy load client reads late would hold up whoever writes its log there. */
  async #node(core: string, args: string[]): Promise<Running> {
    const file = join(this.folder, `output-${this.#children.length}`)
    const output = openSync(file, 'w')
    const child = spawn('taskset', ['-c', core, process.execPath, ...args], { stdio: ['ignore', output, 'inherit'] })
    this.#children.push(child)
    await until('an address', () => addressIn(file) !== undefined, 15_000)
    return { url: addressIn(file)!, pid: child.pid! }
  }
}

function addressIn(file: string): string | undefined {
  return /"(?:url|listen)":"(http[^"]+)"/.exec(readFileSync(file, 'utf8'))?.[1]
}
