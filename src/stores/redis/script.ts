// A Lua script beside this file, and its SHA-1, by which Redis remembers it.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Script {
  readonly source: string
  readonly sha: string
}

/** `npm run build` copies the scripts beside the compiled file, so that one relative address fits both trees. */
export function loadScript(verb: 'acquire' | 'append' | 'cancel' | 'read' | 'read-log' | 'remove' | 'renew' | 'settle'): Script {
  const source = readFileSync(new URL(`./scripts/${verb}.lua`, import.meta.url), 'utf8')
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
