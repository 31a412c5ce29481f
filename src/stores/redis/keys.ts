// The names of a fingerprint's keys. The braces are the hash tag: keys that share it live in one slot of a cluster.
import { homeOf } from '../../model/home.ts'

/** The record, its lease and the log of its answer, in the order of the scripts' KEYS. */
export function recordKeys(fingerprint: string): [record: string, lease: string, log: string] {
  const record = recordKey(fingerprint)
  return [record, `${record}:lease`, `${record}:log`]
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
