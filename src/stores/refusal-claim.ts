// What a refused acquire is told of the record it met.
import type { RecordView } from '../model/record.ts'
import type { Claim } from './store.ts'
import type { Refusal } from './transitions.ts'

interface Refused {
  readonly view: RecordView
  readonly digestFields: string
  readonly body: Buffer | undefined
}

/** The refusal in the words of the interface. */
export function refusalClaim(refusal: Refusal, { view, digestFields, body }: Refused): Claim {
  switch (refusal) {
    case 'key_reused':
      return { kind: 'key_reused', record: view, digestFields }
    case 'completed':
    case 'failed':
      if (view.response === undefined) throw new TypeError('a record to replay has no answer')
      return { kind: refusal, record: view, response: { head: view.response, body } }
    case 'in_flight':
    case 'unknown':
    case 'expired':
      return { kind: refusal, record: view }
  }
}
