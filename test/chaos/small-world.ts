// A world small enough to be explored whole: two gateways, one record in the real memory store, one upstream, and messages
// between them that can be late, lost and doubled. It lists everything that can happen next.
import type { RecordView, SettledStatus } from '../../src/model/record.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import type { SettleRequest, Store } from '../../src/stores/store.ts'
import type { Plant } from './planted-faults.ts'

/** In units of the clock. */
export const LEASE = 2
const UNIT_MS = 1000
const FINGERPRINT = 'f'
const TTL_MS = 1e9

export interface Bounds {
  readonly onUnknown: 'refuse' | 'retry'
  /** How often both gateways together begin, die, repeat a call that was not answered, renew. */
  readonly starts: number
  readonly crashes: number
  readonly resends: number
  readonly renewals: number
  /** How far the clock goes. */
  readonly ticks: number
  /** Puts a faulty store in the place of the right one. */
  readonly plant?: Plant
}

export interface GatewayState {
  readonly phase: 'over' | 'acquiring' | 'granted' | 'sent' | 'settling'
  readonly execution: string
  readonly attempt: number
  readonly to: SettledStatus
}

/** On its way to the store; whoever sent it may be dead by now. One that is never delivered is lost. */
export interface Message {
  readonly verb: 'acquire' | 'renew' | 'settle'
  readonly execution: string
  /** Of a settle. */
  readonly to: SettledStatus
}

export interface Reply {
  readonly verb: Message['verb']
  readonly execution: string
  readonly result: string
  readonly attempt: number
}

export interface Acted {
  readonly execution: string
  readonly attempt: number
  readonly outcome: 'running' | SettledStatus
}

/** What is left of the bounds. */
interface Left {
  readonly starts: number
  readonly crashes: number
  readonly resends: number
  readonly renewals: number
}

/** As it is kept: `processing` also where its lease has run out. */
export interface KeptFacts {
  readonly status: string
  readonly attempt: number
  readonly execution: string
  /** By the clock; 0 unless processing. */
  readonly leaseUntil: number
  readonly result: string | undefined
}

export interface State {
  readonly clock: number
  readonly left: Left
  readonly gateways: readonly GatewayState[]
  readonly messages: readonly Message[]
  readonly kept: KeptFacts | undefined
  /** In the order in which the upstream got them. */
  readonly upstream: readonly Acted[]
  /** What the store was told, and when: it is built anew from this. */
  readonly calls: readonly { readonly message: Message; readonly clock: number }[]
}

export interface Step {
  readonly name: string
  readonly state: State
  /** Where the store had a part in it. */
  readonly store?: { readonly before: RecordView | undefined; readonly after: RecordView | undefined; readonly reply: Reply }
}

export function firstState({ starts, crashes, resends, renewals }: Bounds): State {
  const idle: GatewayState = { phase: 'over', execution: '', attempt: 0, to: 'failed' }
  const left = { starts, crashes, resends, renewals }
  return { clock: 0, left, gateways: [idle, idle], messages: [], kept: undefined, upstream: [], calls: [] }
}

/**
 * Everything that can happen next. A reply comes at once, or never: one that comes late is like a call that was delivered late,
 * or like a gateway that takes its time over it.
 */
export async function nextSteps(state: State, bounds: Bounds): Promise<Step[]> {
  const steps: Step[] = state.gateways.flatMap((gateway, n) => ofGateway(state, gateway, n))
  if (state.clock < bounds.ticks) steps.push({ name: 'time passes', state: { ...state, clock: state.clock + 1 } })
  for (const { execution, outcome } of state.upstream) {
    if (outcome !== 'running') continue
    for (const to of ['completed', 'failed', 'unknown'] as const) steps.push(answer(state, execution, to))
  }
  for (const [n, message] of state.messages.entries()) {
    const first = state.messages.findIndex(
      (other) => other.execution === message.execution && other.verb === message.verb && other.to === message.to,
    )
    if (first === n) steps.push(...(await deliver(state, n, bounds)))
  }
  return steps
}

function ofGateway(state: State, gateway: GatewayState, n: number): Step[] {
  const steps: Step[] = []
  const { phase, execution, to } = gateway
  const step = (name: string, change: Partial<GatewayState>, more: Partial<State> = {}): void =>
    void steps.push({ name: `gateway ${n} ${name}`, state: { ...state, ...more, ...changed(state, n, change) } })
  const sending = (message: Message): Partial<State> => ({ messages: [...state.messages, message] })
  const { left } = state
  const less = (what: keyof Left): { left: Left } => ({ left: { ...left, [what]: left[what] - 1 } })
  if (phase === 'over') {
    const fresh = `e${left.starts}`
    const acquire = { verb: 'acquire', execution: fresh, to } as const
    if (left.starts > 0) step('begins', { phase: 'acquiring', execution: fresh }, { ...less('starts'), ...sending(acquire) })
    return steps
  }
  if (left.crashes > 0) step('dies', { phase: 'over' }, less('crashes'))
  if (phase === 'acquiring') {
    if (left.resends > 0) step('asks again', {}, { ...less('resends'), ...sending({ verb: 'acquire', execution, to }) })
    step('gives up, and takes its claim back', { phase: 'over' }, sending({ verb: 'settle', execution, to: 'failed' }))
  }
  if (phase === 'granted') {
    const acted: Acted = { execution, attempt: gateway.attempt, outcome: 'running' }
    step('sends', { phase: 'sent' }, { upstream: [...state.upstream, acted] })
  }
  if (phase === 'sent' && left.renewals > 0) {
    step('renews', {}, { ...less('renewals'), ...sending({ verb: 'renew', execution, to }) })
  }
  if (phase === 'settling') {
    if (left.resends > 0) step('settles again', {}, { ...less('resends'), ...sending({ verb: 'settle', execution, to }) })
    step('leaves its settling behind', { phase: 'over' })
  }
  return steps
}

/** The upstream's answer, or the break of its connection, and what its gateway makes of it. */
function answer(state: State, execution: string, to: SettledStatus): Step {
  const upstream = state.upstream.map((one) => (one.execution === execution ? { ...one, outcome: to } : one))
  const n = state.gateways.findIndex((gateway) => gateway.execution === execution && gateway.phase === 'sent')
  const name = `the upstream ends ${execution}: ${to}`
  if (n < 0) return { name, state: { ...state, upstream } }
  const messages = [...state.messages, { verb: 'settle', execution, to } as const]
  return { name, state: { ...state, upstream, messages, ...changed(state, n, { phase: 'settling', to }) } }
}

/** The gateway gets the reply, or does not. */
async function deliver(state: State, n: number, bounds: Bounds): Promise<Step[]> {
  const message = state.messages[n]!
  const { store, setClock } = await rebuilt(state, bounds)
  setClock(state.clock)
  const before = await store.read(FINGERPRINT)
  const reply = await tell(store, message, bounds)
  const after = await store.read(FINGERPRINT)
  await store.close()
  const delivered: State = {
    ...state,
    messages: state.messages.toSpliced(n, 1),
    kept: keptAfter(state, reply, message, after),
    calls: [...state.calls, { message, clock: state.clock }],
  }
  const to = message.verb === 'settle' ? ` to ${message.to}` : ''
  const name = `the store gets ${message.verb}${to} of ${message.execution}: ${reply.result}`
  const lost = { name: `${name}, and the reply is lost`, state: delivered, store: { before, after, reply } }
  const heard = take(delivered, reply)
  return heard === undefined ? [lost] : [lost, { ...lost, name, state: heard }]
}

/** Undefined where nobody waits for it. */
function take(state: State, { verb, execution, result, attempt }: Reply): State | undefined {
  const n = state.gateways.findIndex((gateway) => gateway.execution === execution && gateway.phase === AWAITED_IN[verb])
  if (n < 0) return undefined
  const granted = verb === 'acquire' && result === 'acquired'
  return { ...state, ...changed(state, n, granted ? { phase: 'granted', attempt } : { phase: 'over' }) }
}

/** A renewal's reply changes nothing: an execution that lost its lease runs on. */
const AWAITED_IN: Readonly<Record<Message['verb'], GatewayState['phase'] | undefined>> = {
  acquire: 'acquiring',
  settle: 'settling',
  renew: undefined,
}

function keptAfter({ kept, clock }: State, { result }: Reply, message: Message, after: RecordView | undefined): KeptFacts | undefined {
  if (after === undefined) return undefined
  const changed = result === 'acquired' || result === 'ok'
  const status = !changed ? kept!.status : message.verb === 'settle' ? message.to : 'processing'
  const leaseUntil = status === 'processing' ? (changed ? clock + after.leaseLeft / UNIT_MS : kept!.leaseUntil) : 0
  return { status, attempt: after.attempt, execution: after.executionId, leaseUntil, result: after.response?.bodyHash }
}

async function rebuilt({ calls }: State, bounds: Bounds): Promise<{ store: Store; setClock: (clock: number) => void }> {
  let now = 0
  const memory = new MemoryStore(() => now)
  const store = bounds.plant?.(memory, () => undefined) ?? memory
  const setClock = (clock: number): void => void (now = clock * UNIT_MS)
  for (const { message, clock } of calls) {
    setClock(clock)
    await tell(store, message, bounds)
  }
  return { store, setClock }
}

async function tell(store: Store, { verb, execution, to }: Message, { onUnknown }: Bounds): Promise<Reply> {
  const name = { fingerprint: FINGERPRINT, executionId: execution }
  const reply = (result: string, attempt = 0): Reply => ({ verb, execution, result, attempt })
  const times = { leaseMs: LEASE * UNIT_MS, ttlMs: TTL_MS }
  switch (verb) {
    case 'acquire': {
      const rules = { rule: 'r', owner: 'o', digest: 'd', digestFields: '', onFailed: 'retry', onUnknown, onCompleted: 'replay' } as const
      const claim = await store.acquire({ ...name, ...times, ...rules })
      return claim.kind === 'acquired' ? reply(claim.kind, claim.attempt) : reply(claim.kind)
    }
    case 'renew':
      return reply(await store.renew({ ...name, ...times }))
    case 'settle': {
      const body = Buffer.from(execution)
      const head = { status: 200, headers: [], bodyHash: execution, bodyBytes: body.length, bodyStored: true }
      const settling: SettleRequest = { ...name, to, ttlMs: TTL_MS, keepAtLeastMs: LEASE * UNIT_MS }
      return reply(await store.settle(to === 'completed' ? { ...settling, response: { head, body } } : settling))
    }
  }
}

function changed({ gateways }: State, n: number, change: Partial<GatewayState>): { gateways: GatewayState[] } {
  return { gateways: gateways.map((gateway, m) => (m === n ? { ...gateway, ...change } : gateway)) }
}
