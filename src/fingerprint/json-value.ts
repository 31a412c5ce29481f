// What a JSON text is read into, and how it says that it is no JSON.
import type { ExactNumber } from './decimal.ts'

export interface JsonObject {
  [key: string]: JsonValue
}
export type JsonValue = null | boolean | number | string | ExactNumber | JsonValue[] | JsonObject

/** Objects of this kind inherit nothing: no setter behind `__proto__`, no `constructor`. Faster than Object.create(null). */
export const Members = function Members() {} as unknown as new () => JsonObject
Members.prototype = Object.create(null)

export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly reason: string
  /** Characters from the start of the text. */
  readonly position: number
  /** Where a key is repeated: its JSON Pointer (RFC 6901). */
  readonly pointer: string | undefined

  constructor(reason: string, position: number, pointer?: string) {
    super(`${reason} at character ${position}`)
    this.reason = reason
    this.position = position
    this.pointer = pointer
  }
}

/** One step of a JSON Pointer (RFC 6901 section 3), with its slash. */
export function pointerStep(step: string | number): string {
  if (typeof step === 'number') return `/${step}`
  return `/${step.includes('~') || step.includes('/') ? step.replaceAll('~', '~0').replaceAll('/', '~1') : step}`
}
