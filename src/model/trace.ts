// What whoever traces requests is told, step by step, and how a stored answer names the trace of its execution.
import type { SettledStatus } from './record.ts'
import { headerValue, withoutHeaders } from './headers.ts'
import type { HeaderList } from './stored-response.ts'

/** Undefined wherever one is expected: nobody traces, or not this request. */
export type Tracing = (headers: HeaderList, rule: string) => RequestTrace | undefined

/** Of one request that a rule guards, from `intent_parsed` on. */
export interface RequestTrace {
  /** What it asks for is known; now the store is asked. */
  identified(fingerprint: string): void
  /** What was found there, in the store's words, and under which name. */
  checked(found: string, fingerprint: string): void
  /** It was granted the execution. */
  granted(execution: { readonly fingerprint: string; readonly executionId: string; readonly attempt: number }): ExecutionTrace
  /** From here on its client gets the answer: that of the execution which `executedBy` names, or its own. Only the first call counts. */
  returning(executedBy?: string): void
  /** The client has what it gets, of whichever record. An execution in the background may go on. */
  ended(outcome: string, status: number | undefined, fingerprint: string | undefined): void
}

export interface ExecutionTrace {
  /** What the stored answer names it by (W3C Trace Context, `traceparent`); undefined where the trace is not kept. */
  readonly name: string | undefined
  /** The request leaves for the upstream; gives its headers with those that lead here, unless its client has sent such. */
  sent(headers: HeaderList): HeaderList
  /** How the upstream's part ended: `whole`, or the fault. */
  answered(status: number | undefined, ending: string): void
  /** What the record should say; then the client gets its answer. */
  settled(to: SettledStatus): void
}

/** The stored head's line that names the execution's trace. It is the gateway's own, so no upstream can set it, and no client gets it. */
const TRACE_LINE = 'Oncegate-Trace'
const TRACE_LINES = new Set([TRACE_LINE.toLowerCase()])

export function withTrace(headers: string[], name: string | undefined): string[] {
  if (name !== undefined) headers.push(TRACE_LINE, name)
  return headers
}

/** The lines that clients get of a stored head, and what names the trace of its execution. */
export function splitTrace(headers: HeaderList): { readonly headers: HeaderList; readonly executedBy: string | undefined } {
  const executedBy = headerValue(headers, 'oncegate-trace')
  return { headers: executedBy === undefined ? headers : withoutHeaders(headers, TRACE_LINES), executedBy }
}
