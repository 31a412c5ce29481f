// The names of a fingerprint's keys. The braces are the hash tag: all of them live in one slot of a cluster.

/** The record, its lease and the log of its answer, in the order of the scripts' KEYS. */
export function recordKeys(fingerprint: string): [record: string, lease: string, log: string] {
  const record = `oncegate:{${fingerprint}}`
  return [record, `${record}:lease`, `${record}:log`]
}

/** Where settle.lua and append.lua publish. */
export function changesChannel(fingerprint: string): string {
  return `oncegate:{${fingerprint}}:changed`
}

export function fingerprintOf(channel: string): string {
  return channel.slice(channel.indexOf('{') + 1, channel.lastIndexOf('}'))
}
