// `oncegate explain`: how one request would be identified, or what a change of the rules changes. Nothing is sent, no store is opened.
import type { GatewayConfig } from '../config/gateway-config.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import type { Environment } from '../config/variables.ts'
import { compileRule } from '../fingerprint/compile-rule.ts'
import type { Explanation } from '../fingerprint/explain.ts'
import { deriveKeys } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { loadStepTools } from '../fingerprint/steps/tools.ts'
import { withFields } from '../fingerprint/with-fields.ts'
import { explainTold } from '../http/explain-told.ts'
import { isStatusPath } from '../http/status-route.ts'
import { createTokenVerifier } from '../http/verify-token.ts'
import { compareExplanations, type Explained } from './compare-explanations.ts'
import { requestFromFlags, requestFromMessage, type RequestFlags } from './explain-request.ts'
import { readRecordedRequests } from './recorded-requests.ts'
import { showComparison } from './show-comparison.ts'
import { showExplanation } from './show-explanation.ts'
import { UsageError } from './usage-error.ts'

export interface ExplainOptions extends RequestFlags {
  readonly config: string
  /** A file that holds the request. */
  readonly raw?: string
  /** The rules as they were, to compare over a file of recorded requests. */
  readonly against?: string
  readonly requests?: string
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
export async function explain(url: string | undefined, options: ExplainOptions, { env, out, err }: Surroundings): Promise<0 | 1 | 2> {
  try {
    checkUsage(url, options)
    const { against, requests } = options
    out.write(
      against === undefined || requests === undefined
        ? await explainOne(url, options, env)
        : await explainChange(against, requests, { options, env }),
    )
    return 0
  } catch (error) {
    if (error instanceof ConfigError) err.write(`${formatMistakes(error.mistakes, error.text)}\n`)
    else err.write(`oncegate explain: ${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1
  }
}

function checkUsage(url: string | undefined, { raw, against, requests, request, header, data }: ExplainOptions): void {
  const flags = request !== undefined || data !== undefined || header.length > 0
  if ((against === undefined) !== (requests === undefined)) {
    throw new UsageError('--against FILE and --requests FILE go together: the rules as they were, and the requests to compare them over')
  }
  const ways = [url, raw, against].filter((way) => way !== undefined).length
  if (ways === 0) throw new UsageError('no request: give a URL, or --raw FILE with a request, or --against FILE with --requests FILE')
  if (ways > 1) throw new UsageError('a URL, --raw FILE and --against FILE exclude each other')
  if (flags && url === undefined) throw new UsageError('-X, -H and -d belong to a URL: a file says these things itself')
}

async function explainOne(url: string | undefined, options: ExplainOptions, env: Environment): Promise<string> {
  const request = options.raw === undefined ? requestFromFlags(url ?? '', options) : requestFromMessage(options.raw, options.ip)
  const { config } = loadConfig({ file: options.config, env })
  const explanation = await (await explainer(config))(request)
  const note = noteOn(config, request)
  return options.json === true ? asJson({ ...explanation, note }) : showExplanation(explanation, note)
}

async function explainChange(
  against: string,
  requests: string,
  { options, env }: { options: ExplainOptions; env: Environment },
): Promise<string> {
  const recorded = readRecordedRequests(requests)
  // One secret for both: whether a request gets another fingerprint must be the rules' doing.
  const [before, after] = await Promise.all(
    [against, options.config].map((file) => explainer({ ...loadConfig({ file, env }).config, secret: FIXED_SECRET })),
  )
  const explained: Explained[] = []
  for (const { line, request } of recorded) explained.push({ line, before: await before!(request), after: await after!(request) })
  const comparison = compareExplanations(explained)
  return options.json === true ? asJson(comparison) : showComparison(comparison)
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function noteOn({ secret, statusPath }: GatewayConfig, { path }: RequestParts): string | undefined {
  if (isStatusPath(statusPath, path)) return 'under statusPath the gateway answers by itself, before any rule is asked'
  return secret === '' ? FIXED_SECRET_NOTE : undefined
}

async function explainer(config: GatewayConfig): Promise<(request: RequestParts) => Promise<Explanation>> {
  const tools = await loadStepTools(config.rules)
  const rules = config.rules.map((rule) => compileRule(rule, tools))
  const keys = deriveKeys(config.secret === '' ? FIXED_SECRET : config.secret)
  const readsClaims = rules.some((rule) => rule.readsClaims || rule.where?.some((condition) => condition.readsClaims) === true)
  const verify = config.jwt !== undefined && readsClaims ? createTokenVerifier(config.jwt) : undefined
  return async (sent) => explainTold(rules, await withFields(sent), { keys, verify })
}
