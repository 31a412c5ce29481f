// The names of a fingerprint's keys. The braces are the hash tag: keys that share it live in one slot of a cluster.
import { homeOf } from '../../model/home.ts'

/** The record, its lease and the log of its answer, in the order of the scripts' KEYS. */
export function recordKeys(fingerprint: string): [record: string, lease: string, log: string] {
  const record = recordKey(fingerprint)
  return [record, `${record}:lease`, `${record}:log`]
}

/** What SCAN finds records by, and what else belongs to a fingerprint. */
export const RECORD_PATTERN = 'oncegate:{*}*'

/** The fingerprint whose record the key is; undefined for a lease, a log, and all else. */
export function fingerprintOfRecord(key: string): string | undefined {
  const name = key.slice(PREFIX.length)
  return name.includes(':') ? undefined : name.replace('}', '')
}

/** Where settle.lua and append.lua publish. */
export function changesChannel(fingerprint: string): string {
  return `${recordKey(fingerprint)}${CHANGED}`
}

export function fingerprintOf(channel: string): string {
  return channel.slice(PREFIX.length, -CHANGED.length).replace('}', '')
}

/** What one script may have to look at together lives in one home. */
function recordKey(fingerprint: string): string {
  const home = homeOf(fingerprint)
  return `${PREFIX}${home}}${fingerprint.slice(home.length)}`
}

const PREFIX = 'oncegate:{'
const CHANGED = ':changed'
