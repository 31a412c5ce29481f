// One request, understood: which record it belongs to and what must agree when it comes again.

export interface Operation {
  /** Identity of the record, where none lives under an alias; the only name for it outside the gateway. */
  readonly fingerprint: string
  /** Further names that the same fact may be kept under; undefined where there is but one. */
  readonly aliases: readonly string[] | undefined
  /** For each name, its own first, the digests that versions of the rules compute for it; undefined: `digest` under every name. */
  readonly digests?: readonly (readonly string[])[] | undefined
  /** By name, each version's `digestFields`. */
  readonly fieldsUnder?: ReadonlyMap<string, readonly string[]> | undefined
  /** How a new record is kept, where another version of the rules says it; undefined: as the request's rule says. */
  readonly keptFor?: KeptFor | undefined
  /** Keyed hash over what must agree when the fingerprint comes again; empty when the rule compares nothing. */
  readonly digest: string
  /** Short keyed hashes per field of the digest, so that a mismatch can name fields without keeping values. */
  readonly digestFields: string
  /** Keyed hash of whom the record belongs to. */
  readonly owner: string
  /** Whom the rule's limits count it for: the owner's hash, or one name for all who have none. */
  readonly countedFor: string
  /** Further names that belong to this fact alone; undefined where it brings none. */
  readonly alsoUnique: FurtherNames | undefined
  /** The client says that it has never sent this before, and sent no key: a result that is there belongs to an earlier wish. */
  readonly firstTry: boolean
  /** The client's own idempotency key, where the rule has a key part and the client sent one. */
  readonly clientKey: string | undefined
}

export interface FurtherNames {
  /** As the rule calls them, each at the place of its name. */
  readonly labels: readonly string[]
  /** Keyed hashes. */
  readonly names: readonly string[]
}

/** Of the rule under whose name the request is claimed. */
export interface KeptFor {
  readonly name: string
  readonly exclusive?: { readonly whenBusy: 'refuse' | 'wait' } | undefined
  /** Under one of the names there may be a tombstone. */
  readonly tombstones: boolean
}
