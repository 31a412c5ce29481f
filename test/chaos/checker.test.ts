// The checker sees each kind of broken promise in a history of a few events, and none in the one that keeps all of them.
import t from 'tap'
import { bodyPieces, hashOf } from './body.ts'
import { check } from './checker.ts'
import type { AnsweredEvent, AskedEvent, EndedEvent, ExecutedEvent, FaultEvent, HistoryEvent, StatusEvent } from './history.ts'
import { LIMITS, RULES } from './rules.ts'

const WISH = { wish: 'w', payload: 0 }
const BODY = { ...WISH, execution: 'x1', attempt: 1, pieces: 2, pieceBytes: 10 }

function bytesOf(plan = BODY): Buffer {
  return Buffer.concat(bodyPieces(plan))
}

const asked = (request: number, at: number, more: Partial<AskedEvent> = {}): AskedEvent => ({
  type: 'asked',
  at,
  request,
  gateway: 0,
  rule: 'again',
  phase: 'load',
  ...WISH,
  ...more,
})
const answered = (request: number, at: number, more: Partial<AnsweredEvent> = {}): AnsweredEvent => ({
  type: 'answered',
  at,
  request,
  status: 200,
  replayed: request > 1,
  fingerprint: 'f',
  whole: true,
  bytes: bytesOf().length,
  hash: hashOf(bytesOf()),
  ...more,
})
const refused = (request: number, at: number, status: number, error: string): AnsweredEvent =>
  answered(request, at, { status, error, replayed: false })
const executed = (at: number, more: Partial<ExecutedEvent> = {}): ExecutedEvent => ({
  type: 'executed',
  at,
  request: 1,
  gateway: 0,
  rule: 'again',
  fingerprint: 'f',
  status: 200,
  ...BODY,
  ...more,
})
const ended = (at: number, more: Partial<EndedEvent> = {}): EndedEvent => ({ type: 'ended', at, execution: 'x1', how: 'answered', ...more })
const status = (at: number, more: Partial<StatusEvent> = {}): StatusEvent => ({
  type: 'status',
  at,
  until: at + 1,
  gateway: 0,
  wish: 'w',
  code: 200,
  status: 'completed',
  attempt: 1,
  execution: 'x1',
  resultHash: `sha256:${hashOf(bytesOf())}`,
  final: false,
  ...more,
})
const fault: FaultEvent = { type: 'fault', kind: 'stop', gateway: 0, from: 120, to: 2000 }

/** The first executes, the second waits for it, the third gets it when all is over. */
const GOOD: readonly HistoryEvent[] = [
  { type: 'run', seed: 0, store: 'none', gateways: 2, rules: RULES, limits: LIMITS },
  asked(1, 100),
  executed(110),
  asked(2, 120),
  ended(300),
  answered(1, 310),
  answered(2, 320),
  status(400, { final: true }),
  asked(3, 500, { phase: 'after' }),
  answered(3, 510),
]

/** Everything of the rule `careful` instead. */
const CAREFUL = GOOD.map((event) => ('rule' in event ? { ...event, rule: 'careful' } : event))

const second = (at: number, more: Partial<ExecutedEvent> = {}): HistoryEvent[] => [
  executed(at, { request: 2, execution: 'x2', attempt: 2, ...more }),
  ended(at + 10, { execution: more.execution ?? 'x2' }),
]

function without(...types: HistoryEvent['type'][]): HistoryEvent[] {
  return GOOD.filter(({ type }) => !types.includes(type))
}

function changed(from: HistoryEvent, to: Partial<HistoryEvent>, history = GOOD): HistoryEvent[] {
  return history.map((event) => (JSON.stringify(event) === JSON.stringify(from) ? ({ ...event, ...to } as HistoryEvent) : event))
}

const BROKEN: readonly [check: string, history: readonly HistoryEvent[]][] = [
  ['executed-again', [...GOOD, ...second(200)]],
  ['executed-again', [...CAREFUL, fault, ...second(200, { rule: 'careful' })]],
  ['executed-after-result', [...GOOD, ...second(315)]],
  ['attempt-repeated', [...GOOD, ...second(200, { attempt: 1 })]],
  ['attempts-fall', [...GOOD, ...second(200, { attempt: 0 })]],
  ['execution-sent-twice', [...GOOD, ...second(200, { execution: 'x1' })]],
  ['two-payloads', [...GOOD, fault, ...second(200, { payload: 1 })]],
  ['not-the-upstreams-answer', changed(answered(2, 320), { hash: hashOf(Buffer.from('?')) })],
  ['not-a-beginning', changed(answered(2, 320), { whole: false, bytes: 3, hash: hashOf(Buffer.from('???')) })],
  ['clean-end-of-a-broken-answer', changed(ended(300), { how: 'reset' })],
  ['anothers-payload', changed(asked(2, 120), { payload: 1 })],
  ['executed-unseen', changed(answered(2, 320), { replayed: false })],
  ['own-answer-replayed', changed(answered(1, 310), { replayed: true })],
  ['two-results', changed(answered(2, 320), { bytes: 1, hash: hashOf(Buffer.from('?')) })],
  ['result-forgotten', [...GOOD, asked(4, 600), refused(4, 610, 425, 'in-flight')]],
  ['result-forgotten', changed(status(400, { final: true }), { status: 'failed' })],
  ['fingerprint-shared', [...GOOD, asked(4, 100, { wish: 'v' }), refused(4, 110, 425, 'in-flight')]],
  ['unexpected-problem', [...GOOD, asked(4, 110), refused(4, 120, 500, 'internal-error')]],
  ['refused-against-the-rule', [...GOOD, fault, asked(4, 110), refused(4, 130, 409, 'outcome-unknown')]],
  ['unknown-without-cause', [...CAREFUL, asked(4, 110, { rule: 'careful' }), refused(4, 130, 409, 'outcome-unknown')]],
  ['trouble-without-cause', [...GOOD, asked(4, 110), refused(4, 130, 503, 'store-unavailable')]],
  ['conflict-with-nobody', [...GOOD, asked(4, 110), refused(4, 130, 422, 'key-reused')]],
  [
    'in-flight-after-unknown',
    [
      ...CAREFUL,
      fault,
      asked(4, 130, { rule: 'careful' }),
      refused(4, 140, 409, 'outcome-unknown'),
      asked(5, 150, { rule: 'careful' }),
      refused(5, 160, 425, 'in-flight'),
    ],
  ],
  ['over-the-limit', [...GOOD, asked(4, 110), refused(4, 30_000, 425, 'in-flight')]],
  ['never-answered', [...GOOD, asked(4, 110)]],
  ['record-lost', changed(status(400, { final: true }), { code: 404, status: undefined as never })],
  ['attempt-went-back', [...GOOD, status(350, { attempt: 2, execution: 'x2', status: 'processing' })]],
  ['attempt-changed-hands', [...GOOD, status(350, { execution: 'x2', status: 'processing' })]],
  ['step-not-drawn', [...GOOD, status(450, { status: 'processing' })]],
  ['ends-wrongly', changed(status(400, { final: true }), { execution: 'x9' })],
  ['another-result', changed(status(400, { final: true }), { resultHash: 'sha256:0' })],
  ['never-settled', changed(status(400, { final: true }), { status: 'processing' })],
  ['no-final-reading', without('status')],
  ['not-collected', GOOD.filter((event) => event.type !== 'asked' || event.request !== 3)],
  ['not-replayable', changed(answered(3, 510), { status: 409, error: 'result-not-stored' })],
  ['gateway-in-trouble', [...GOOD, { type: 'trouble', gateway: 0, what: 'it ended by itself' }]],
]

t.same(check(GOOD), [], 'every promise kept')
t.same(check(CAREFUL), [], 'by each rule')
for (const [name, history] of BROKEN) {
  const found = check(history).map((violation) => violation.check)
  t.ok(found.includes(name), `${name}: found ${found.join(', ')}`)
}

t.test('what a fault explains is no fault of the gateway', async (t) => {
  const secondBody = bytesOf({ ...BODY, execution: 'x2', attempt: 2 })
  const after = changed(status(400, { final: true }), { attempt: 2, execution: 'x2', resultHash: `sha256:${hashOf(secondBody)}` })
  const lost = after.filter((event) => event.type !== 'answered')
  const taken = { bytes: secondBody.length, hash: hashOf(secondBody) }
  const answers = [refused(1, 310, 425, 'in-flight'), answered(2, 320, { ...taken, replayed: false }), answered(3, 510, taken)]
  t.same(check([...lost, ...answers, fault, ...second(200)]), [], 'a stopped gateway lost its lease, and another execution began')
})
