// A rule in shadow: its request passes as if there were no rule, and what the rule would have done is found out beside it.
import type { IncomingMessage } from 'node:http'
import { identify } from '../fingerprint/identify.ts'
import { inShadow } from '../fingerprint/shadow-names.ts'
import type { FingerprintKeys } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import type { Matched } from '../fingerprint/route.ts'
import { withFields } from '../fingerprint/with-fields.ts'
import type { Gate } from '../idempotency/gate.ts'
import { decideInShadow, type PassEnd } from '../idempotency/shadow.ts'
import { headerLines, passedOn } from '../model/headers.ts'
import type { ShadowOutcome } from '../model/metrics.ts'
import type { Exchange } from './exchange.ts'
import type { Passed } from './pass-through.ts'
import { hasBody } from './raw-body.ts'
import { requestParts } from './request-parts.ts'
import type { TokenVerifier } from './verify-token.ts'

export interface ShadowParts {
  readonly gate: Pick<Gate, 'store' | 'metrics'>
  readonly keys: () => FingerprintKeys | undefined
  readonly verifyToken: TokenVerifier | undefined
  readonly log: { info(details: object, message: string): void; error(details: object, message: string): void }
}

/** Called before the request is passed on. `read`: it was read already, to choose the rule. */
export function watchInShadow(parts: ShadowParts, exchange: Exchange, match: Matched, read?: RequestParts): (passed: Passed) => void {
  const { config } = match.rule
  let tell: (end: PassEnd) => void = nothing
  const ended = new Promise<PassEnd>((resolve) => (tell = resolve))
  const request = read ?? collected(exchange, config.maxBody)
  judge(parts, match, { request, ended }).catch((error: unknown) =>
    parts.log.error({ err: error, rule: config.name }, 'the shadow of a rule failed'),
  )
  return (passed) => tell(endOf(passed))
}

function endOf(passed: Passed): PassEnd {
  switch (passed.kind) {
    case 'passed':
      return { status: passed.status, whole: passed.whole, sent: true, clientGone: false }
    case 'client-gone':
      return { status: undefined, whole: false, sent: true, clientGone: true }
    case 'failed':
      return { status: undefined, whole: false, sent: passed.problem.name !== 'upstream-unreachable', clientGone: false }
  }
}

type Collected = RequestParts | 'body-too-large' | 'client-gone'

interface Course {
  readonly request: Collected | Promise<Collected>
  readonly ended: Promise<PassEnd>
}

async function judge(parts: ShadowParts, match: Matched, { request, ended }: Course): Promise<void> {
  const { config } = match.rule
  const found = await request
  if (found === 'client-gone') return
  const [outcome, fingerprint] = found === 'body-too-large' ? ([found, undefined] as const) : await decide(parts, match, found, ended)
  parts.gate.metrics.rule(config.name).shadow(outcome)
  parts.log.info({ rule: config.name, shadow: outcome, shadowFingerprint: fingerprint }, 'shadow')
}

type Decision = readonly [outcome: ShadowOutcome, fingerprint: string | undefined]

async function decide(parts: ShadowParts, match: Matched, found: RequestParts, ended: Promise<PassEnd>): Promise<Decision> {
  const { rule } = match
  const keys = parts.keys()
  if (keys === undefined) return [rule.config.onStoreError === 'pass' ? 'unguarded' : 'store-unavailable', undefined]
  let request = rule.readsBody && found.multipart === undefined ? await withFields(found) : found
  if (rule.readsClaims && request.claims === undefined) {
    const token = await parts.verifyToken?.(headerLines(request.headers, 'authorization'))
    if (token?.kind === 'refused') return [token.problem.name, undefined]
    if (token?.kind === 'verified') request = { ...request, claims: token.claims }
  }
  const identified = identify(rule, request, match, keys)
  if (identified.kind === 'refused') return [identified.problem.name, undefined]
  if (identified.kind === 'unguarded') return ['passed', undefined]
  const operation = inShadow(identified.operation, keys)
  return [await decideInShadow(parts.gate.store, { rule: rule.config, outcome: rule.outcome, operation, ended }), operation.fingerprint]
}

/** Looks at the body as it passes, and holds nothing up. */
function collected(exchange: Exchange, maxBytes: number): Collected | Promise<Collected> {
  const { raw } = exchange
  const parts = (body: Buffer): RequestParts => requestParts(exchange, passedOn(raw.rawHeaders), body)
  if (!hasBody(raw)) return parts(Buffer.alloc(0))
  return collect(raw, maxBytes).then((body) => (typeof body === 'string' ? body : parts(body)))
}

function collect(raw: IncomingMessage, maxBytes: number): Promise<Buffer | 'body-too-large' | 'client-gone'> {
  // A listener would set the stream going before anybody has taken it up.
  raw.pause()
  return new Promise((resolve) => {
    let chunks: Buffer[] = []
    let bytes = 0
    raw.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
      else chunks = []
    })
    raw.once('end', () => resolve(bytes > maxBytes ? 'body-too-large' : Buffer.concat(chunks)))
    raw.once('close', () => resolve('client-gone'))
  })
}

function nothing(): void {}
