// Which fields of two digests differ, from a short keyed hash per field: no value is ever kept.
import { arrayHead, encode, encodeString, isList, objectHead, sortedKeys, type CanonicalValue } from './canonical.ts'
import { ExactNumber } from './decimal.ts'
import { pointerStep, type JsonObject } from './json-value.ts'
import { keyedHash } from './keys.ts'
import { shortHash } from './short-hash.ts'

export interface Field {
  /** What a client is told: a JSON Pointer, or a selector. */
  readonly name: string
  readonly value: CanonicalValue
  /** Whether members of the value may count as fields of their own. */
  readonly open: boolean
  members?: readonly Field[] | undefined
  keys?: readonly string[] | undefined
}

export interface FieldHashes {
  /** Static key of the deployment for values too long to repeat in the digest's text. */
  readonly key: string
  /** This record's own key, see `issue`. */
  readonly recordKey: Buffer
  /** Name and hash of each field so far. */
  written: string
}

/** How many fields are told apart. */
export const MAX_FIELDS = 32
/** Longer names would make the record large; such members count within their parent. */
const NAME_CHARS = 128
/** From here on a value stands in the digest's text by its hash, so that no byte is hashed twice. */
const LONG_VALUE = 400
const HASH_CHARS = 6

/** Splits values into their members, as long as there are not too many. */
export function splitFields(roots: readonly Field[]): void {
  for (const root of roots) split(root, Math.floor(MAX_FIELDS / roots.length))
}

/** Members share what their parent may have in equal parts: what one holds does not change how another is split. */
function split(field: Field, limit: number): void {
  const members = field.open && limit > 0 ? membersOf(field, limit) : undefined
  if (members === undefined) return
  field.members = members
  for (const member of members) split(member, Math.floor(limit / members.length))
}

/** The members as fields; undefined where there are more than `limit`, or none: an empty member is a field, an empty body has none. */
function membersOf(field: Field, limit: number): readonly Field[] | undefined {
  const { value, name } = field
  if (isList(value)) {
    if (value.length > limit || (value.length === 0 && name !== '')) return undefined
    return value.map((item, index) => ({ name: name + pointerStep(index), value: item, open: true }))
  }
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber || value instanceof Uint8Array) return undefined
  const object: JsonObject = value
  const keys = sortedKeys(object)
  if (keys.length > limit || (keys.length === 0 && name !== '')) return undefined
  field.keys = keys
  const members: Field[] = []
  for (const key of keys) {
    const member = { name: name + pointerStep(key), value: object[key]!, open: true, members: undefined, keys: undefined }
    if (member.name.length > NAME_CHARS) return undefined
    members.push(member)
  }
  return members
}

/** The field's part of the digest's text; adds the hashes of the fields it is split into to `hashes.written`. */
export function encodeField(field: Field, hashes: FieldHashes): string {
  const { members } = field
  if (members === undefined) {
    let text = encode(field.value)
    if (text.length > LONG_VALUE) text = `#${keyedHash(hashes.key, text)}`
    const name = field.name === '' ? 'body' : field.name
    hashes.written += `${name.length}:${name}${shortHash(hashes.recordKey, name + text)}`
    return text
  }
  const keys = Array.isArray(field.value) ? undefined : field.keys
  let text = keys === undefined ? arrayHead(members.length) : objectHead(members.length)
  for (let n = 0; n < members.length; n++) {
    if (keys !== undefined) text += encodeString(keys[n]!)
    text += encodeField(members[n]!, hashes)
  }
  return text
}

/** Names of the fields that differ between two digests, as `/amount` or `query.to`. */
export function differingFields(stored: string, now: string): string[] {
  const before = readFields(stored)
  const after = readFields(now)
  const differing = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
  const parents = new Set([...ancestors(before), ...ancestors(after)])
  // Split on one side and whole on the other, as where an object has grown: that it differs is a guess, so the sure ones go first.
  const sure = differing.filter(
    (name) => !parents.has(name) && !ancestorsOf(name).some((parent) => before.has(parent) || after.has(parent)),
  )
  const guessed = differing.filter((name) => parents.has(name))
  return (sure.length > 0 ? sure : guessed).toSorted()
}

/** The fields that are told apart: what a 422 could name. */
export function fieldNames(digestFields: string): string[] {
  return [...readFields(digestFields).keys()]
}

function ancestors(fields: ReadonlyMap<string, string>): string[] {
  return [...fields.keys()].flatMap(ancestorsOf)
}

/** The pointers of what holds this one; `body` holds them all. */
function ancestorsOf(name: string): string[] {
  if (!name.startsWith('/')) return []
  const found = ['body']
  for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) found.push(name.slice(0, at))
  return found
}

function readFields(text: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (let at = 0; at < text.length;) {
    const colon = text.indexOf(':', at)
    const length = Number(text.slice(at, colon))
    const end = colon + 1 + length
    // Not written by this version: nothing can be named.
    if (colon === -1 || !Number.isSafeInteger(length) || end + HASH_CHARS > text.length) return new Map()
    fields.set(text.slice(colon + 1, end), text.slice(end, end + HASH_CHARS))
    at = end + HASH_CHARS
  }
  return fields
}
