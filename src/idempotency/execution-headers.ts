// What the upstream is told of an execution, with the request itself and when it is asked about it.
import { headerValue } from '../model/headers.ts'
import type { HeaderList } from '../model/stored-response.ts'

export interface ExecutionLabel {
  /** The record's, which may be an alias of the request's own. */
  readonly fingerprint: string
  readonly executionId: string
  /** The fencing token: the upstream can refuse whatever is older than it has seen. */
  readonly attempt: number
}

/** The client's headers with the execution's. The key is the client's own, else the fingerprint, so that the upstream can recognise the request as well. */
export function executionHeaders(headers: HeaderList, label: ExecutionLabel, clientKey: string | undefined): HeaderList {
  return [
    ...headers,
    ...(headerValue(headers, 'idempotency-key') === undefined ? ['Idempotency-Key', clientKey ?? label.fingerprint] : []),
    'Idempotency-Fingerprint',
    label.fingerprint,
    'Idempotency-Execution',
    label.executionId,
    'Idempotency-Attempt',
    String(label.attempt),
  ]
}
