// What `store` may say.
import { readRedisAddress } from '../model/redis-address.ts'
import { readLmdbAddress } from './lmdb-address.ts'
import { didYouMean } from './did-you-mean.ts'

const SCHEMES = ['lmdb:', 'redis://', 'rediss://', 'redis+sentinel://', 'redis+cluster://', 'postgres://', 'memory'] as const

/** How the rest of the address goes. */
const REDIS_FORMS: Readonly<Record<string, string>> = {
  'redis://': 'host:6379',
  'rediss://': 'host:6379',
  'redis+sentinel://': 'host1:26379,host2:26379/name',
  'rediss+sentinel://': 'host1:26379,host2:26379/name',
  'redis+cluster://': 'host1:6379,host2:6379',
  'rediss+cluster://': 'host1:6379,host2:6379',
}

/** What is wrong with it, or undefined. Never quotes more than the scheme: a store's URL may hold a password. */
export function checkStoreUrl(text: string): { message: string; hint?: string | undefined } | undefined {
  // Unquoted, YAML takes no text that ends in a colon: the word alone will do.
  if (text === 'memory:' || text === 'memory') return undefined
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/)?/.exec(text)?.[0]
  const expected =
    'expected lmdb:<folder>, redis://host[:port][/db], redis+sentinel://host,host/name, redis+cluster://host,host, postgres://user@host[:port]/db or memory'
  if (scheme === undefined) {
    return { message: 'a store starts with its kind', hint: didYouMean(text, ['lmdb:', 'memory']) ?? expected }
  }
  if (scheme === 'lmdb:' && text.length === scheme.length) return { message: 'lmdb: needs a folder', hint: 'write lmdb:./data' }
  if (scheme === 'lmdb://')
    return {
      message: 'lmdb: takes a folder, not a URL',
      hint: 'write lmdb:./data, or lmdb:/var/lib/oncegate for one that starts at the root',
    }
  if (scheme === 'lmdb:') return wrongIn(() => readLmdbAddress(text), 'write lmdb:./data, or lmdb:./data?maxSize=4GiB')
  const form = REDIS_FORMS[scheme]
  if (form !== undefined) return wrongIn(() => readRedisAddress(text), `write ${scheme}${form}`)
  if (scheme === 'postgres://' || scheme === 'postgresql://') {
    // Without a host: the one of `?host=`, a folder with the server's socket, or PGHOST.
    return URL.canParse(text) ? undefined : { message: 'not a valid URL', hint: `write ${scheme}user@host:5432/database` }
  }
  return { message: `unknown kind of store "${scheme}"`, hint: didYouMean(scheme, SCHEMES) ?? expected }
}

function wrongIn(read: () => unknown, hint: string): { message: string; hint: string } | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    return { message: error instanceof Error ? error.message : 'not a valid address', hint }
  }
}
