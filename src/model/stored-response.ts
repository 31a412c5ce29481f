// The upstream's answer as the store keeps it.

/** Header lines in their order, repeated names and all: name, value, name, value … */
export type HeaderList = readonly string[]

/** What an answer begins with. */
export interface AnswerHead {
  readonly status: number
  readonly headers: HeaderList
}

export interface ResponseHead extends AnswerHead {
  /** SHA-256 of the body bytes, in hex. */
  readonly bodyHash: string
  readonly bodyBytes: number
  /** False when the body was over `maxResult` and only this head is kept. */
  readonly bodyStored: boolean
}

export interface StoredResponse {
  readonly head: ResponseHead
  /** The bytes as the upstream sent them, still in their Content-Encoding. */
  readonly body: Buffer
}

/** The same as it is found again. */
export interface KeptResponse {
  readonly head: ResponseHead
  /** Undefined: large, and to be read from the store's log by pieces. Empty also where it was not kept. */
  readonly body: Buffer | undefined
}
