// The group of facts of which one is executed at a time: it is the beginning of each of their fingerprints.

/** 120 bits. */
export const GROUP_CHARS = 20
const GROUPED_CHARS = 64

/**
 * The group that a fingerprint belongs to; undefined where it excludes no other. Being part of the name, it is known to whoever knows
 * the name, and whatever belongs to a group can be kept in one place: in one slot of a cluster.
 */
export function groupOf(fingerprint: string): string | undefined {
  return fingerprint.length === GROUPED_CHARS ? fingerprint.slice(0, GROUP_CHARS) : undefined
}
