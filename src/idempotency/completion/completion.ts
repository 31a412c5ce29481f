// What watches an answer for the end that its rule names (`completeOn`).

/** Watches one answer of the upstream. Memory is bounded, whatever comes. */
export interface Completion {
  /** The next bytes, as the upstream sent them. False: onDrain tells when to go on, as with a slow client. */
  append(piece: Buffer): boolean
  onDrain(listener: () => void): void
  /** Call once, when the answer has ended. */
  isComplete(): Promise<boolean>
  /** Call instead, when nobody is going to ask. */
  abandon(): void
}

/** What looks into the plain bytes. */
export interface PlainCompletion {
  append(piece: Buffer): void
  isComplete(): boolean
}
