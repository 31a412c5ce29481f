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
  readonly #byOptions = new Map<UpstreamOptions, Upstream>()
  readonly #byContent = new Map<string, Upstream>()

  /** Equal settings share their connections, wherever in the configuration they stand. */
  get(options: UpstreamOptions): Upstream {
    return this.#byOptions.get(options) ?? this.#add(options)
  }

  #add(options: UpstreamOptions): Upstream {
    const content = JSON.stringify([options.url, options.connectTimeout, options.connections, options.ca])
    const upstream = this.#byContent.get(content) ?? open(options)
    this.#byContent.set(content, upstream)
    this.#byOptions.set(options, upstream)
    return upstream
  }

  /** Ends every connection at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#byContent.values()].map(({ pool }) => pool.destroy()))
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
