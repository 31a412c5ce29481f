// Which files a configuration was made from, and the version that they are: another version wherever one byte differs.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { GatewayConfig } from './gateway-config.ts'
import type { Environment } from './variables.ts'

export interface ReadFiles {
  readonly files: readonly string[]
  /** Twelve hexadecimal digits; the same in every gateway that has the same files. */
  readonly version: string
  /** What the environment gave for each variable that they name. */
  readonly variables: ReadonlyMap<string, string>
}

/** `texts`: the configuration's own files as they were read; the files that it names besides are read here. */
export function readFilesOf(texts: ReadonlyMap<string | undefined, string>, config: GatewayConfig, env: Environment): ReadFiles {
  const hash = createHash('sha256')
  for (const text of texts.values()) hash.update(`${Buffer.byteLength(text)}:`).update(text)
  const named = namedFiles(config)
  for (const file of named) hash.update(contentOf(file))
  return {
    files: [...ownFiles(texts), ...named],
    version: hash.digest('hex').slice(0, 12),
    variables: variablesIn([...texts.values()], env),
  }
}

function variablesIn(texts: readonly string[], env: Environment): Map<string, string> {
  const names = texts.flatMap((text) => [...text.matchAll(/\$\{([A-Za-z_]\w*)/g)].map(([, name = '']) => name))
  return new Map(names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])))
}

export function ownFiles(texts: ReadonlyMap<string | undefined, string>): string[] {
  return [...texts.keys()].filter((file) => file !== undefined)
}

/** A hash of what is in all of them now; a file that cannot be read is another content, too. */
export function contentHash(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(contentOf(file))
  return hash.digest('hex')
}

/** Whose content a change of rules may be, besides YAML. */
function namedFiles({ jwt, rules }: GatewayConfig): string[] {
  const plugins = rules.flatMap(({ fingerprint }) =>
    Object.values(fingerprint).flatMap((part) =>
      typeof part === 'string' || 'value' in part
        ? []
        : (part.apply ?? []).flatMap((step) => (typeof step === 'string' || step.plugin === undefined ? [] : [step.plugin])),
    ),
  )
  return [...new Set([...plugins, ...(jwt?.publicKeyFile === undefined ? [] : [jwt.publicKeyFile])])]
}

function contentOf(file: string): Buffer {
  try {
    return createHash('sha256').update(readFileSync(file)).digest()
  } catch {
    return Buffer.from('unreadable')
  }
}
