// One question to the upstream about one execution, and what its answer makes of the record.
import type { AskConfig } from '../config/gateway-config.ts'
import { passedOn } from '../model/headers.ts'
import { statusTable } from '../model/outcome.ts'
import type { RecordView } from '../model/record.ts'
import type { HeaderList, StoredResponse } from '../model/stored-response.ts'
import { StoreUnavailable } from '../stores/store.ts'
import { ask, type Asked, type WholeAnswer } from '../upstream/ask.ts'
import { executionHeaders } from './execution-headers.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import { persist } from './persist.ts'
import { storedHeaders } from './stored-headers.ts'

interface Inquiry {
  readonly gate: Gate
  readonly request: GuardedRequest
  readonly config: AskConfig
  readonly record: RecordView
}

/**
 * Asks once. Tells whether the record now says what came of the execution; never rejects. Undefined where this request has no
 * value for a variable of the path.
 */
export function inquire(inquiry: Inquiry): Promise<boolean> | undefined {
  const { gate, request, config, record } = inquiry
  const { rule, operation, forward } = request
  const target = request.inquiryPath?.(record)
  if (target === undefined || 'missing' in target) {
    gate.log.warn(
      { ...told(inquiry), missing: target?.missing },
      'the upstream cannot be asked about an unknown outcome: this request has no value for a variable of the path',
    )
    return undefined
  }
  const { asked, cancel } = ask(
    gate.upstreams.get(rule.upstream),
    {
      method: config.method,
      target: target.path,
      headers: executionHeaders(withoutBody(forward.headers), record, operation.clientKey),
      body: null,
      timeoutMs: config.timeout,
    },
    { wanted: (status) => meaningOf(config, status) === 'executed', maxBytes: rule.maxResult },
  )
  const settled = asked
    .then((answer) => settleBy(inquiry, answer))
    .catch((error: unknown) => {
      gate.log.error({ ...told(inquiry), err: error }, 'asking the upstream about an unknown outcome failed')
      return false
    })
  gate.live.add({ giveUp: cancel, settled: settled.then(nothing) })
  return settled
}

function told({ request, record }: Inquiry): object {
  return { rule: request.rule.name, fingerprint: record.fingerprint, execution: record.executionId, attempt: record.attempt }
}

/** Those that describe the body, or ask for an answer of another kind than the first client got (RFC 9110 8.3, 13.1, 14.2). */
const OF_THE_REQUEST_ALONE = /^(?:content-.*|digest|repr-digest|range|if-.*|prefer|last-event-id)$/i

function withoutBody(headers: HeaderList): string[] {
  return headers.filter((_, at) => !OF_THE_REQUEST_ALONE.test(headers[at - (at % 2)]!))
}

async function settleBy(inquiry: Inquiry, asked: Asked): Promise<boolean> {
  const { gate, request, config, record } = inquiry
  const status = asked.kind === 'whole' ? asked.answer.status : asked.kind === 'status' ? asked.status : undefined
  const meaning = status === undefined ? 'unclear' : meaningOf(config, status)
  if (meaning === 'unclear') {
    const fault = asked.kind === 'none' ? asked.error.fault : undefined
    gate.log.warn({ ...told(inquiry), status, fault }, 'the upstream was asked about an unknown outcome, and its answer is unclear')
    return false
  }
  const end =
    asked.kind === 'whole' ? ({ to: 'completed', response: responseOf(request, asked.answer) } as const) : ({ to: 'failed' } as const)
  const { ttl, lease, tombstone } = request.rule
  const settling = {
    fingerprint: record.fingerprint,
    executionId: record.executionId,
    ttlMs: ttl,
    keepAtLeastMs: lease,
    tombstoneMs: tombstone,
    ...end,
  }
  try {
    // Stale: somebody else knew sooner. Either way the record is no longer as it was.
    const result = await persist(() => gate.store.settle(settling), gate.storeTimeout)
    if (result === 'ok') gate.metrics.learned(end.to)
    gate.log.warn({ ...told(inquiry), status, result }, `the upstream was asked about an unknown outcome: ${meaning}`)
    return true
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    gate.log.warn({ ...told(inquiry), status }, 'what the upstream said of an unknown outcome could not be stored')
    return false
  }
}

type Meaning = 'executed' | 'not executed' | 'unclear'

const MEANINGS = { completed: 'executed', failed: 'not executed', unknown: 'unclear' } as const

/** As with outcomes, a single code wins over its class. */
function meaningOf({ executed, notExecuted }: AskConfig, status: number): Meaning {
  return MEANINGS[statusTable({ completed: executed, failed: notExecuted })(status)]
}

function responseOf({ rule }: GuardedRequest, { status, headers, bodyHash, bodyBytes, body }: WholeAnswer): StoredResponse {
  const head = {
    status,
    headers: storedHeaders(passedOn(headers), rule.replayHeaders),
    bodyHash,
    bodyBytes,
    bodyStored: body !== undefined,
  }
  return { head, body: body ?? Buffer.alloc(0) }
}

function nothing(): void {}
