// The step `plugin`: a module of the operator's own, called with one value and under a time limit.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import vm from 'node:vm'
import { constant, isList, type CanonicalValue } from '../canonical.ts'
import { ExactNumber, numberText } from '../decimal.ts'
import { Members, type JsonObject, type JsonValue } from '../json-value.ts'
import { Refusal } from '../refusal.ts'
import { onEach, type Step } from './step.ts'

export type Plugin = (value: unknown) => unknown

/** A step should take microseconds. */
export const PLUGIN_MS = 50

/** Loads the module, anew where the file has changed; throws where it has no function to call. What the module imports itself is kept. */
export async function loadPlugin(file: string): Promise<{ readonly plugin: Plugin; readonly version: string }> {
  const version = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
  const module = (await import(`${pathToFileURL(file).href}?version=${version}`)) as { readonly default?: unknown }
  if (typeof module.default !== 'function') throw new TypeError(`the plugin ${file} has no function as its default export`)
  return { plugin: module.default as Plugin, version }
}

/**
 * The limit of `vm` interrupts whatever JavaScript runs below it, an endless loop or a regular expression that backtracks for
 * ever too. A worker would do the same for a thread's price; the module is the operator's own, and needs no walls around it.
 */
const script = new vm.Script('call()')

export function plugin(run: Plugin, limitMs = PLUGIN_MS): Step {
  const slot: { call: () => unknown } = { call: () => undefined }
  const context = vm.createContext(slot)
  return onEach((value) => {
    slot.call = () => run(plainValue(value))
    try {
      return canonicalValue(script.runInContext(context, { timeout: limitMs }))
    } catch (error) {
      if (error instanceof Refusal) throw error
      // The error comes from the other context: it is no instance of this one's Error.
      const late = typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
      throw new Refusal(
        'field-invalid',
        late ? `A plugin of the rule took longer than ${limitMs} ms.` : 'A plugin of the rule failed.',
        error,
      )
    }
  })
}

/** What the module sees: JSON as JSON.parse makes it, but numbers that no double holds as the text of their digits. */
function plainValue(value: CanonicalValue): unknown {
  if (value instanceof ExactNumber) return numberText(value)
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (isList(value)) return value.map(plainValue)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainValue(member)]))
}

/** Undefined and null mean that the part is missing. */
function canonicalValue(result: unknown): CanonicalValue | undefined {
  return result === undefined || result === null ? undefined : jsonValue(result, 0)
}

const MAX_DEPTH = 64

function jsonValue(value: unknown, depth: number): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return constant(value) as JsonValue
  if (typeof value !== 'object' || depth > MAX_DEPTH) throw new TypeError('a plugin returned something that JSON cannot say')
  if (Array.isArray(value)) return value.map((item) => jsonValue(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) throw new TypeError('a plugin returned an object of a class')
  const object: JsonObject = new Members()
  for (const [name, member] of Object.entries(value)) object[name] = jsonValue(member, depth + 1)
  return object
}
