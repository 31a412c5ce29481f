// What a redis address says: one server, those that Sentinel knows by a name, or a cluster.

export interface HostPort {
  readonly host: string
  readonly port: number
}

interface Access {
  readonly username: string | undefined
  readonly password: string | undefined
  readonly tls: boolean
}

export type RedisAddress =
  /** As the driver reads it. */
  | { readonly kind: 'single'; readonly url: string }
  | (Access & {
      readonly kind: 'sentinel'
      readonly sentinels: readonly HostPort[]
      /** By which Sentinel knows the master. */
      readonly name: string
      readonly db: number
      readonly sentinelUsername: string | undefined
      readonly sentinelPassword: string | undefined
    })
  | (Access & { readonly kind: 'cluster'; readonly nodes: readonly HostPort[] })

const SENTINEL_PORT = 26379
const NODE_PORT = 6379

/** `URL` takes one host only: here are the user, the hosts, the path and the query. */
const SEVERAL_HOSTS = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/
const HOST = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/

/**
 * `redis://…`, `rediss://…`, `redis+sentinel://[user:password@]h1:26379,h2/name[/db]`, `redis+cluster://[user:password@]h1,h2`, and both with
 * TLS as `rediss+…`. Sentinels that ask for a password of their own: `?sentinelPassword=`, `?sentinelUsername=`.
 * Undefined: no such address. Throws RangeError with what is wrong, which never quotes the address: it may hold a password.
 */
export function readRedisAddress(text: string): RedisAddress | undefined {
  if (/^rediss?:\/\//.test(text)) {
    if (!URL.canParse(text) || new URL(text).hostname === '') throw new RangeError('not a valid URL')
    return { kind: 'single', url: text }
  }
  const kind = /^rediss?\+(sentinel|cluster):/.exec(text)?.[1]
  if (kind === undefined) return undefined
  const [, scheme, , user = '', hosts = '', path = '', query = ''] = SEVERAL_HOSTS.exec(text) ?? []
  if (scheme === undefined) throw new RangeError('not a valid address')
  const access = { ...readUser(user), tls: scheme === 'rediss' }
  if (kind === 'cluster') {
    if (path !== '' || query !== '') throw new RangeError('a cluster has hosts only: no database, no name')
    return { kind, ...access, nodes: readHosts(hosts, NODE_PORT) }
  }
  const [name = '', db = '0', ...more] = path.split('/').map(decoded)
  if (name === '') throw new RangeError('the name by which Sentinel knows the master is missing')
  if (!/^\d{1,5}$/.test(db) || more.length > 0) throw new RangeError('after the name comes the number of a database, or nothing')
  const said = new URLSearchParams(query)
  return {
    kind: 'sentinel',
    ...access,
    sentinels: readHosts(hosts, SENTINEL_PORT),
    name,
    db: Number(db),
    sentinelUsername: said.get('sentinelUsername') ?? undefined,
    sentinelPassword: said.get('sentinelPassword') ?? undefined,
  }
}

function readHosts(text: string, defaultPort: number): HostPort[] {
  return text.split(',').map((each) => {
    const [, bracketed, plain, port = String(defaultPort)] = HOST.exec(each.trim()) ?? []
    const host = bracketed ?? plain
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
      throw new RangeError('not a list of host[:port], with commas between')
    return { host, port: Number(port) }
  })
}

function readUser(text: string): { username: string | undefined; password: string | undefined } {
  const colon = text.indexOf(':')
  const [username, password] = colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
  return { username: decoded(username) || undefined, password: decoded(password) || undefined }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RangeError('a % that is followed by no two hexadecimal digits')
  }
}
