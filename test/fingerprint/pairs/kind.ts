// The form of the table of pairs: a kind of business facts, the rules that guard it, and what is and is not the same fact.
import type { Asked } from '../identifier.ts'

/** By what sets the request apart from the fact's own. */
export type Variants = Readonly<Record<string, Asked>>

export interface Fact {
  readonly request: Asked
  /** The same record and content: a duplicate. */
  readonly same: Variants
  /** The same record with another content: a mistake of the client (422). */
  readonly conflict?: Variants
  /** Another record. */
  readonly different: Variants
}

export interface Kind {
  readonly name: string
  /** A file of config/presets, by its name; or else the text of a rule file. */
  readonly preset?: string
  readonly rules?: string
  /** Files beside the rule file: name and text. */
  readonly files?: Readonly<Record<string, string>>
  readonly facts: readonly Fact[]
  /** What the rules let pass unguarded. */
  readonly passing?: readonly Asked[]
}

export const json = (url: string, body: object, ...headers: string[]): Asked => ({ url, body: JSON.stringify(body), headers })

/** A JSON text, where its spelling matters. */
export const text = (url: string, body: string, ...headers: string[]): Asked => ({ url, body, headers })

export const form = (url: string, body: string, ...headers: string[]): Asked => ({
  url,
  body,
  headers: ['Content-Type', 'application/x-www-form-urlencoded', ...headers],
})

/** One field or file of a multipart form. */
export interface FormPart {
  readonly name: string
  readonly value: string
  readonly fileName?: string
  readonly type?: string
}

export function multipart(url: string, boundary: string, parts: readonly FormPart[], ...headers: string[]): Asked {
  const lines = parts.flatMap(({ name, value, fileName, type }) => [
    `--${boundary}`,
    `Content-Disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}`,
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    '',
    value,
  ])
  return {
    url,
    body: [...lines, `--${boundary}--`, ''].join('\r\n'),
    headers: ['Content-Type', `multipart/form-data; boundary=${boundary}`, ...headers],
  }
}

export const ANNA = ['Authorization', 'Bearer anna']
export const BERT = ['Authorization', 'Bearer bert']
