// The connections to the APIs behind the gateway: one pool per upstream setting, shared by all that use it.
import { readFileSync } from 'node:fs'
import { Pool } from 'undici'

export interface UpstreamOptions {
  readonly url: string
  /** Milliseconds for a connection to open. */
  readonly connectTimeout?: number | undefined
  readonly connections?: number | undefined
  /** File of the certificates to trust (PEM). */
  readonly ca?: string | undefined
}

export interface Upstream {
  readonly pool: Pool
  /** What the upstream is told in `Host`. */
  readonly host: string
}

export class Upstreams {
  readonly #byUrl = new Map<string, Upstream>()

  get(options: UpstreamOptions): Upstream {
    const key = JSON.stringify([options.url, options.connectTimeout, options.connections, options.ca])
    let upstream = this.#byUrl.get(key)
    if (upstream === undefined) {
      upstream = open(options)
      this.#byUrl.set(key, upstream)
    }
    return upstream
  }

  /** Ends every connection at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#byUrl.values()].map(({ pool }) => pool.destroy()))
  }
}

function open(options: UpstreamOptions): Upstream {
  const url = new URL(options.url)
  const pool = new Pool(url.origin, {
    connections: options.connections ?? null,
    // One request a connection: a broken one must not take others down with it.
    pipelining: 1,
    // The rule's own timeout is the only limit (undici's 300 s would cut long answers).
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: options.connectTimeout ?? 5000,
      ...(options.ca === undefined ? {} : { ca: readFileSync(options.ca) }),
    },
  })
  return { pool, host: url.host }
}
