// The files that a configuration names: where they are, and whether they can be read.
import { accessSync, constants, readFileSync } from 'node:fs'
import { isUtf8 } from 'node:buffer'
import { dirname, resolve } from 'node:path'
import type { Finding, Place } from './mistakes.ts'
import { asList, asMapping, valueAt } from './plain-values.ts'

/** The text of the configuration file, or why there is none. */
export function readConfigFile(file: string): { readonly text: string } | { readonly error: string } {
  try {
    const bytes = readFileSync(file)
    return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { error: 'this file is not UTF-8' }
  } catch (error) {
    return { error: `this file cannot be read: ${codeOf(error)}` }
  }
}

/** Files named in a configuration are looked for beside it, wherever the gateway was started. */
export function resolveFrom(configFile: string | undefined, file: string): string {
  return resolve(configFile === undefined ? '.' : dirname(configFile), file)
}

export function lintFiles(root: unknown, configFile: string | undefined): Finding[] {
  const rules = asList(valueAt(root, ['rules'])).map((_, n): Place => ['rules', n, 'upstream', 'ca'])
  const places: Place[] = [
    ['tls', 'cert'],
    ['tls', 'key'],
    ['upstream', 'ca'],
    ['jwt', 'publicKeyFile'],
    ['defaults', 'upstream', 'ca'],
    ...rules,
    ...pluginPlaces(root),
  ]
  return places.flatMap((place): Finding[] => {
    const file = valueAt(root, place)
    if (typeof file !== 'string' || file === '') return []
    const path = resolveFrom(configFile, file)
    try {
      accessSync(path, constants.R_OK)
      return []
    } catch (error) {
      return [{ place, at: 'value', message: `this file cannot be read: ${codeOf(error)}`, hint: `it is looked for at ${path}` }]
    }
  })
}

function pluginPlaces(root: unknown): Place[] {
  const rules = asList(valueAt(root, ['rules'])).map((_, n): Place => ['rules', n, 'fingerprint'])
  return [['defaults', 'fingerprint'], ...rules].flatMap((place) =>
    Object.keys(asMapping(valueAt(root, place))).flatMap((part) =>
      asList(valueAt(root, [...place, part, 'apply'])).map((_, n): Place => [...place, part, 'apply', n, 'plugin']),
    ),
  )
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT'
    ? 'there is no such file'
    : code === 'EACCES'
      ? 'permission denied'
      : code === 'EISDIR'
        ? 'it is a folder'
        : String(code ?? error)
}
