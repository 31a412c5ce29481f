// What a request says its body is: of these kinds, all but `other` have fields.
import contentType from 'fast-content-type-parse'

export type BodyKind = 'json' | 'form' | 'multipart' | 'other'

/** By the lines of Content-Type and Content-Encoding; what is compressed, or has two types, has no fields. */
export function bodyKind(types: readonly string[], encodings: readonly string[]): BodyKind {
  if (types.length !== 1 || !encodings.every((coding) => coding === '' || coding.toLowerCase() === 'identity')) return 'other'
  // As nearly everybody writes it.
  if (types[0] === 'application/json') return 'json'
  const { type } = contentType.safeParse(types[0]!)
  if (type === 'application/json' || type.endsWith('+json')) return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  return type === 'multipart/form-data' ? 'multipart' : 'other'
}
