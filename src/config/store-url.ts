// What `store` may say.
import { didYouMean } from './did-you-mean.ts'

const SCHEMES = ['lmdb:', 'redis://', 'rediss://', 'postgres://', 'memory'] as const

/** What is wrong with it, or undefined. Never quotes more than the scheme: a store's URL may hold a password. */
export function checkStoreUrl(text: string): { message: string; hint?: string | undefined } | undefined {
  // Unquoted, YAML takes no text that ends in a colon: the word alone will do.
  if (text === 'memory:' || text === 'memory') return undefined
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/)?/.exec(text)?.[0]
  const expected = 'expected lmdb:<folder>, redis://host[:port][/db], rediss://…, postgres://user@host[:port]/db or memory'
  if (scheme === undefined) {
    return { message: 'a store starts with its kind', hint: didYouMean(text, ['lmdb:', 'memory']) ?? expected }
  }
  if (scheme === 'lmdb:') return text.length > scheme.length ? undefined : { message: 'lmdb: needs a folder', hint: 'write lmdb:./data' }
  if (scheme === 'lmdb://')
    return {
      message: 'lmdb: takes a folder, not a URL',
      hint: 'write lmdb:./data, or lmdb:/var/lib/oncegate for one that starts at the root',
    }
  if (scheme === 'redis://' || scheme === 'rediss://') {
    return URL.canParse(text) && new URL(text).hostname !== ''
      ? undefined
      : { message: 'not a valid URL', hint: `write ${scheme}host:6379` }
  }
  if (scheme === 'postgres://' || scheme === 'postgresql://') {
    // Without a host: the one of `?host=`, a folder with the server's socket, or PGHOST.
    return URL.canParse(text) ? undefined : { message: 'not a valid URL', hint: `write ${scheme}user@host:5432/database` }
  }
  return { message: `unknown kind of store "${scheme}"`, hint: didYouMean(scheme, SCHEMES) ?? expected }
}
