// Traces by OpenTelemetry's API: five spans a guarded request, in whichever SDK the operator has loaded. Without one there are none.
import {
  type Attributes,
  type Context,
  context,
  type Link,
  propagation,
  type ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { headerValue } from '../model/headers.ts'
import type { SettledStatus } from '../model/record.ts'
import type { HeaderList } from '../model/stored-response.ts'
import type { ExecutionTrace, RequestTrace, Tracing } from '../model/trace.ts'

/** Undefined where no SDK was registered before the gateway was made: then a request costs no more than to see that. */
export function openTracing(): Tracing | undefined {
  const provider = trace.getTracerProvider()
  const tracer = isProxy(provider) ? provider.getDelegateTracer('oncegate') : provider.getTracer('oncegate')
  if (tracer === undefined) return undefined
  return (headers, rule) => {
    const intent = tracer.startSpan('intent_parsed', { attributes: { 'oncegate.rule': rule } }, parentOf(headers))
    return intent.isRecording() ? new TracedRequest(tracer, intent, rule) : undefined
  }
}

/** Gives what was recorded to the operator's SDK, which may keep it for a while, at the end of the process. */
export async function flushTraces(): Promise<void> {
  const provider = trace.getTracerProvider()
  const sdk = (isProxy(provider) ? provider.getDelegate() : provider) as { forceFlush?: () => Promise<void> }
  await sdk.forceFlush?.().catch(() => undefined)
}

/** Whose class is another one where the SDK comes with a copy of the API of its own. */
function isProxy(provider: TracerProvider): provider is ProxyTracerProvider {
  return 'getDelegateTracer' in provider
}

/** A span of the operator's own instrumentation that is under way, else what the client names. */
function parentOf(headers: HeaderList): Context {
  const active = context.active()
  return trace.getSpan(active) === undefined ? propagation.extract(ROOT_CONTEXT, headers, LINES) : active
}

const LINES = {
  get: (headers: HeaderList, name: string) => headerValue(headers, name.toLowerCase()),
  keys: (headers: HeaderList) => headers.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()),
}

class TracedRequest implements RequestTrace {
  readonly #tracer: Tracer
  readonly #intent: Span
  readonly #rule: string
  /** Every other span of the request is below the first. */
  readonly #context: Context
  #check: Span | undefined
  #result: Span | undefined
  #identified = false
  #ended = false

  constructor(tracer: Tracer, intent: Span, rule: string) {
    this.#tracer = tracer
    this.#intent = intent
    this.#rule = rule
    this.#context = trace.setSpan(ROOT_CONTEXT, intent)
  }

  identified(fingerprint: string): void {
    this.#identified = true
    this.#intent.setAttribute('bsu_fingerprint', fingerprint).end()
    this.#check = this.#start('state_checked')
  }

  checked(found: string, fingerprint: string): void {
    this.#check?.setAttributes({ bsu_fingerprint: fingerprint, 'oncegate.found': found }).end()
    this.#check = undefined
  }

  granted(execution: { fingerprint: string; executionId: string; attempt: number }): ExecutionTrace {
    const about = { bsu_fingerprint: execution.fingerprint, 'oncegate.rule': this.#rule }
    const named = { ...about, 'oncegate.execution': execution.executionId, 'oncegate.attempt': execution.attempt }
    const grant = this.#start('execution_granted', { attributes: named })
    return new TracedExecution(this.#tracer, grant, { about: named, onSettled: () => this.returning() })
  }

  returning(executedBy?: string): void {
    if (!this.#identified || this.#ended || this.#result !== undefined) return
    const link = executedBy === undefined ? undefined : linkTo(executedBy)
    this.#result = this.#start('result_returned', link === undefined ? {} : { links: [link] })
  }

  ended(outcome: string, status: number | undefined, fingerprint: string | undefined): void {
    if (this.#ended) return
    this.returning()
    this.#ended = true
    const attributes: Attributes = { 'oncegate.outcome': outcome }
    if (status !== undefined) attributes['http.response.status_code'] = status
    if (fingerprint !== undefined) attributes['bsu_fingerprint'] = fingerprint
    this.#check?.setAttributes(attributes).end()
    if (this.#identified) this.#result!.setAttributes(attributes).end()
    else this.#intent.setAttributes(attributes).end()
  }

  #start(name: string, options: { attributes?: Attributes; links?: Link[] } = {}): Span {
    return this.#tracer.startSpan(name, { ...options, attributes: { 'oncegate.rule': this.#rule, ...options.attributes } }, this.#context)
  }
}

class TracedExecution implements ExecutionTrace {
  readonly name: string | undefined
  readonly #tracer: Tracer
  readonly #grant: Span
  readonly #about: Attributes
  readonly #onSettled: () => void
  #effect: Span | undefined

  constructor(tracer: Tracer, grant: Span, { about, onSettled }: { about: Attributes; onSettled: () => void }) {
    this.#tracer = tracer
    this.#grant = grant
    this.#about = about
    this.#onSettled = onSettled
    const { traceId, spanId, traceFlags } = grant.spanContext()
    if ((traceFlags & TraceFlags.SAMPLED) !== 0) this.name = `00-${traceId}-${spanId}-01`
  }

  sent(headers: HeaderList): HeaderList {
    const above = trace.setSpan(ROOT_CONTEXT, this.#grant)
    this.#effect = this.#tracer.startSpan('side_effect_executed', { kind: SpanKind.CLIENT, attributes: this.#about }, above)
    const lines: string[] = []
    propagation.inject(trace.setSpan(above, this.#effect), lines, {
      set: (carrier, name, value) => {
        if (headerValue(headers, name.toLowerCase()) === undefined) carrier.push(name, value)
      },
    })
    return lines.length === 0 ? headers : [...headers, ...lines]
  }

  answered(status: number | undefined, ending: string): void {
    if (status !== undefined) this.#effect?.setAttribute('http.response.status_code', status)
    if (ending !== 'whole') this.#effect?.setStatus({ code: SpanStatusCode.ERROR, message: ending })
    this.#effect?.end()
    this.#effect = undefined
  }

  settled(to: SettledStatus): void {
    this.#effect?.end()
    this.#grant.setAttribute('oncegate.result', to)
    if (to === 'unknown') this.#grant.setStatus({ code: SpanStatusCode.ERROR, message: 'the outcome is not known' })
    this.#grant.end()
    this.#onSettled()
  }
}

/** W3C Trace Context 3.2; undefined where it is none. */
function linkTo(name: string): Link | undefined {
  const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(name) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { context: { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true } }
}
