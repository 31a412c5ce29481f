// `oncegate check FILE`: every mistake of a configuration, or a summary of it.
import type { Address, GatewayConfig, RuleConfig } from '../config/gateway-config.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import type { Environment } from '../config/variables.ts'

/** Returns the exit code: 0 well, 2 a configuration that nothing should start on. */
export function check(file: string, env: Environment, out: { write(text: string): unknown }): 0 | 2 {
  try {
    const { config, warnings, text } = loadConfig({ file, env })
    if (warnings.length > 0) out.write(`${formatMistakes(warnings, text).replaceAll(/^(\S+:\d+:\d+: )/gm, '$1warning: ')}\n`)
    out.write(`${file} is well\n${summary(config)}`)
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { length } = error.mistakes
    out.write(`${formatMistakes(error.mistakes, error.text)}\n${length === 1 ? 'one mistake' : `${length} mistakes`}\n`)
    return 2
  }
}

function summary(config: GatewayConfig): string {
  const lines: [string, string][] = [
    ['listen', showAddress(config.listen)],
    ['admin', showAddress(config.admin)],
    ['upstream', config.upstream.url],
    ['store', withoutPassword(config.store)],
    ...config.rules.map((rule, n): [string, string] => [n === 0 ? 'rules' : '', showRule(rule)]),
  ]
  return lines.map(([name, value]) => `  ${name.padEnd(9)} ${value}\n`).join('')
}

function showAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function showRule({ name, match, mode }: RuleConfig): string {
  const paths = match.paths.length === 0 ? 'every path' : match.paths.join(', ')
  return `${name}: ${match.methods.join(', ')} ${paths}${mode === 'enforce' ? '' : ` (${mode})`}`
}

/** Also where the password itself holds an @. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z+]+:\/\/).*@/, '$1***@')
}
