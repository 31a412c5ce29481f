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
  /** What they are, by content; undefined until somebody has said. */
  #wanted: ReadonlySet<string> | undefined
  /** Those that end with their last request. */
  readonly #ending = new Set<Upstream>()

  /** Equal settings share their connections, wherever in the configuration they stand. */
  get(options: UpstreamOptions): Upstream {
    return this.#byOptions.get(options) ?? this.#add(options)
  }

  #add(options: UpstreamOptions): Upstream {
    const content = contentOf(options)
    if (this.#wanted?.has(content) === false) return this.#openForOne(options)
    const upstream = this.#byContent.get(content) ?? open(options)
    this.#byContent.set(content, upstream)
    this.#byOptions.set(options, upstream)
    return upstream
  }

  /** From now on only these are kept; the connections of any other end with the last request on them. */
  keepOnly(wanted: readonly UpstreamOptions[]): void {
    this.#wanted = new Set(wanted.map(contentOf))
    this.#byOptions.clear()
    for (const [content, upstream] of this.#byContent) {
      if (this.#wanted.has(content)) continue
      this.#byContent.delete(content)
      this.#end(upstream)
    }
  }

  /** For a request that began when this was still wanted, and is only now to be sent. */
  #openForOne(options: UpstreamOptions): Upstream {
    const upstream = open(options)
    // Whoever asks for an upstream sends at once.
    setImmediate(() => this.#end(upstream))
    return upstream
  }

  #end(upstream: Upstream): void {
    this.#ending.add(upstream)
    // Resolves when all that was sent has been answered to the end.
    const ended = (): boolean => this.#ending.delete(upstream)
    upstream.pool.close().then(ended, ended)
  }

  /** Ends every connection at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#byContent.values(), ...this.#ending].map(({ pool }) => pool.destroy()))
  }
}

function contentOf({ url, connectTimeout, connections, ca }: UpstreamOptions): string {
  return JSON.stringify([url, connectTimeout, connections, ca])
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
