// The configuration as it may be shown: every secret masked, and what came from the environment under its name.
import type { GatewayConfig } from './gateway-config.ts'

const MASK = '***'
/** Whatever is kept under these keys, at any depth. */
const SECRETS = /^(?:secret|adminToken|password|token|keys?)$/i
/** Addresses that may carry a password or, in their query, some other credential. */
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i

/** Shorter values stand for themselves in too many places. */
const TOLD_APART = 6

export function shownConfig(config: GatewayConfig, variables: ReadonlyMap<string, string>): unknown {
  const named = [...variables].toSorted(([, a], [, b]) => b.length - a.length)
  const inName = (text: string): string => {
    const whole = named.find(([, value]) => value === text)
    if (whole !== undefined) return `\${${whole[0]}}`
    return named.reduce((left, [name, value]) => (value.length < TOLD_APART ? left : left.replaceAll(value, `\${${name}}`)), text)
  }
  return shown(config, [], inName)
}

function shown(value: unknown, path: readonly string[], inName: (text: string) => string): unknown {
  const key = path.at(-1) ?? ''
  if (Array.isArray(value)) return value.map((item) => shown(item, path, inName))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shown(inner, [...path, name], inName)]))
  }
  if (value === Infinity) return 'forever'
  if (typeof value !== 'string' || value === '') return value
  if (isSecret(key, path)) return MASK
  const text = inName(value)
  return ADDRESS.test(text) ? shownAddress(text) : text
}

/** The names of a rule's parts are the operator's own, and a part may well be called `key`; `tls.key` is a file. */
function isSecret(key: string, path: readonly string[]): boolean {
  return SECRETS.test(key) && path[0] !== 'rules' && path[0] !== 'tls'
}

export function shownAddress(url: string): string {
  return url.replace(/\/\/[^@/]*@/, `//${MASK}@`).replace(/\?.*/s, `?${MASK}`)
}
