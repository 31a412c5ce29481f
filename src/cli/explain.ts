// `oncegate explain`: how one request would be identified. Nothing is sent, and no store is opened.
import type { GatewayConfig } from '../config/gateway-config.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import type { Environment } from '../config/variables.ts'
import { compileRule } from '../fingerprint/compile-rule.ts'
import { explain as explainRequest, type Explanation } from '../fingerprint/explain.ts'
import { deriveKeys } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { loadStepTools } from '../fingerprint/steps/tools.ts'
import { withFields } from '../fingerprint/with-fields.ts'
import { isStatusPath } from '../http/status-route.ts'
import { createTokenVerifier, type Token } from '../http/verify-token.ts'
import { headerLines } from '../model/headers.ts'
import { requestFromFlags, UsageError, type RequestFlags } from './explain-request.ts'
import { showExplanation } from './show-explanation.ts'

export interface ExplainOptions extends RequestFlags {
  readonly config: string
  readonly json?: boolean
}

/** Stands in where only the store knows the secret. */
const FIXED_SECRET = 'oncegate explain: not the secret of any deployment'
const FIXED_SECRET_NOTE =
  'the configuration names no secret: fingerprints, digest and owner are made with a fixed one, not the deployment’s'

interface Surroundings {
  readonly env: Environment
  readonly out: { write(text: string): unknown }
  /** Takes what went wrong, so that `out` holds JSON or nothing. */
  readonly err: { write(text: string): unknown }
}

/** Resolves with the exit code: 0 explained, whatever the gateway would answer; 1 failed; 2 bad usage or configuration. */
export async function explain(url: string, options: ExplainOptions, { env, out, err }: Surroundings): Promise<0 | 1 | 2> {
  try {
    const request = requestFromFlags(url, options)
    const { config } = loadConfig({ file: options.config, env })
    const explanation = await explained(config, request)
    const note = noteOn(config, request)
    out.write(options.json === true ? `${JSON.stringify({ ...explanation, note }, null, 2)}\n` : showExplanation(explanation, note))
    return 0
  } catch (error) {
    if (error instanceof ConfigError) err.write(`${formatMistakes(error.mistakes, error.text)}\n`)
    else err.write(`oncegate explain: ${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1
  }
}

function noteOn({ secret, statusPath }: GatewayConfig, { path }: RequestParts): string | undefined {
  if (isStatusPath(statusPath, path)) return 'under statusPath the gateway answers by itself, before any rule is asked'
  return secret === '' ? FIXED_SECRET_NOTE : undefined
}

async function explained(config: GatewayConfig, sent: RequestParts): Promise<Explanation> {
  const tools = await loadStepTools(config.rules)
  const rules = config.rules.map((rule) => compileRule(rule, tools))
  const request = await withFields(sent)
  const readsClaims = rules.some((rule) => rule.readsClaims || rule.where?.some((condition) => condition.readsClaims) === true)
  const token: Token =
    config.jwt !== undefined && readsClaims
      ? await createTokenVerifier(config.jwt)(headerLines(request.headers, 'authorization'))
      : { kind: 'absent' }
  const keys = deriveKeys(config.secret === '' ? FIXED_SECRET : config.secret)
  if (token.kind === 'verified') return explainRequest(rules, { ...request, claims: token.claims }, keys)
  return explainRequest(rules, request, keys, token.kind === 'refused' ? token.problem : undefined)
}
