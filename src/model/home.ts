// Where a fact is at home: the beginning of its fingerprint, which names that have to be looked at in one step have in common.

/** 48 bits: far more than a store has places. */
const HOME_CHARS = 8

/** Records of one home can be kept in one place: in one slot of a cluster. */
export function homeOf(fingerprint: string): string {
  return fingerprint.slice(0, HOME_CHARS)
}

/** The name, moved to the home of another. */
export function movedHome(name: string, to: string): string {
  return homeOf(to) + name.slice(HOME_CHARS)
}
