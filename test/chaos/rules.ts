// The rules that the gateways of a chaos run enforce, and what each of them promises.

export interface ChaosRule {
  readonly name: string
  /** The fingerprint's part: the client's own key, or a fact of the body. */
  readonly part: 'key' | 'fact'
  readonly inFlight: 'refuse' | 'wait' | 'attach'
  readonly onUnknown: 'refuse' | 'retry'
  readonly onFailed: 'retry' | 'replay'
}

export interface Limits {
  readonly leaseMs: number
  readonly timeoutMs: number
  readonly maxWaitMs: number
  readonly storeTimeoutMs: number
}

export const RULES: readonly ChaosRule[] = [
  { name: 'careful', part: 'key', inFlight: 'refuse', onUnknown: 'refuse', onFailed: 'retry' },
  { name: 'again', part: 'key', inFlight: 'wait', onUnknown: 'retry', onFailed: 'retry' },
  { name: 'final', part: 'fact', inFlight: 'wait', onUnknown: 'refuse', onFailed: 'replay' },
  { name: 'joined', part: 'key', inFlight: 'attach', onUnknown: 'refuse', onFailed: 'retry' },
  { name: 'rejoined', part: 'fact', inFlight: 'attach', onUnknown: 'retry', onFailed: 'retry' },
]

export const LIMITS: Limits = { leaseMs: 1500, timeoutMs: 3000, maxWaitMs: 2000, storeTimeoutMs: 500 }

/** As the gateways read them. */
export function rulesYaml(): string {
  return RULES.map(
    ({ name, part, inFlight, onUnknown, onFailed }) => `
  - name: ${name}
    match: { path: /${name} }
    fingerprint: { ${part === 'key' ? 'key: header.idempotency-key' : 'fact: body.fact'} }
    digest: [body]
    inFlight: { answer: ${inFlight}, maxWait: ${LIMITS.maxWaitMs}ms }
    onUnknown: ${onUnknown}
    onFailed: ${onFailed}
    lease: ${LIMITS.leaseMs}ms
    timeout: ${LIMITS.timeoutMs}ms
`,
  ).join('')
}
