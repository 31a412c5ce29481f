// The names of a fingerprint's keys. The braces are the hash tag: keys that share it live in one slot of a cluster.
import { groupOf } from '../../model/group.ts'
import { homeOf } from '../../model/home.ts'

/** The record, its lease and the log of its answer, in the order of the scripts' KEYS. */
export function recordKeys(fingerprint: string): [record: string, lease: string, log: string] {
  const record = keyOf(fingerprint)
  return [record, `${record}:lease`, `${record}:log`]
}

/** Who holds the fingerprint's group, the line before it, and how long each place is kept; nothing where it has no group. */
export function groupKeys(fingerprint: string): string[] {
  const group = groupOf(fingerprint)
  return group === undefined ? [] : ['holder', 'line', 'places'].map((part) => `${keyOf(group)}:${part}`)
}

/** What is left of the record when its time is over, where its rule wants it to go on refusing. */
export function tombstoneKey(fingerprint: string): string {
  return `${keyOf(fingerprint)}:tombstone`
}

/** A further name of facts of this home. */
export function nameKey(name: string): string {
  return `${keyOf(name)}:name`
}

/** What SCAN finds records by, and what else belongs to a fingerprint. */
export const RECORD_PATTERN = 'oncegate:{*}*'

/** The fingerprint whose record the key is; undefined for a lease, a log, and all else. */
export function fingerprintOfRecord(key: string): string | undefined {
  const name = key.slice(PREFIX.length)
  return name.includes(':') ? undefined : name.replace('}', '')
}

/** Where the scripts publish. */
export function changesChannel(fingerprint: string): string {
  return `${keyOf(fingerprint)}${CHANGED}`
}

export function fingerprintOf(channel: string): string {
  return channel.slice(PREFIX.length, -CHANGED.length).replace('}', '')
}

/** What one script may have to look at together lives in one home: all names of a fact, and all facts of a group with the group itself. */
function keyOf(name: string): string {
  const home = homeOf(name)
  return `${PREFIX}${home}}${name.slice(home.length)}`
}

const PREFIX = 'oncegate:{'
const CHANGED = ':changed'
