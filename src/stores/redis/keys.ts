// The names of a fingerprint's keys. The braces are the hash tag: all of them live in one slot of a cluster.

/** The record and its lease, in the order of the scripts' KEYS. */
export function recordKeys(fingerprint: string): [record: string, lease: string] {
  return [`oncegate:{${fingerprint}}`, `oncegate:{${fingerprint}}:lease`]
}

/** Where settle.lua publishes. */
export function settledChannel(fingerprint: string): string {
  return `oncegate:{${fingerprint}}:settled`
}

export function fingerprintOf(channel: string): string {
  return channel.slice(channel.indexOf('{') + 1, channel.lastIndexOf('}'))
}
