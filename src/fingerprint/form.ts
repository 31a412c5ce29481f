// Form bodies as an object: the order of different names is free, that of equal ones is kept.
import { Members, type JsonObject, type JsonValue } from './json-value.ts'
import { percentDecode, toAscii } from './percent.ts'

/** `application/x-www-form-urlencoded`, as the URL standard reads it. */
export function parseForm(body: Buffer): JsonObject {
  const fields = new FormFields()
  for (const pair of toAscii(body.toString('latin1')).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    fields.add(component(equals === -1 ? pair : pair.slice(0, equals)), component(equals === -1 ? '' : pair.slice(equals + 1)))
  }
  return fields.object
}

/** A name that comes once has a value, one that comes again a list of them. */
export class FormFields {
  readonly object: JsonObject = new Members()
  readonly #lists = new Map<string, JsonValue[]>()

  add(name: string, value: JsonValue): void {
    const list = this.#lists.get(name)
    if (list === undefined) {
      this.#lists.set(name, [value])
      this.object[name] = value
      return
    }
    list.push(value)
    this.object[name] = list
  }
}

/** What no decoded text begins with: half of a surrogate pair. */
const UNDECODED = '\udcff'

/** What is no percent-encoded UTF-8 (a form in another character set) stays as it was sent, and is equal to no text. */
function component(raw: string): string {
  return percentDecode(raw.includes('+') ? raw.replaceAll('+', ' ') : raw) ?? UNDECODED + raw
}
