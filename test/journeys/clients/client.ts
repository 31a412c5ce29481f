// How the table knows a client: what it talks to, what guards that, and how a program uses it.
import type { Api } from './api.ts'

/** One wish of the user's, in the client's own words; resolves with the text that it got. */
export type Call = () => Promise<string>

export interface Client {
  readonly name: string
  readonly api: Api
  /** A preset by its name, or rules as YAML. */
  readonly guard: { readonly preset: string } | { readonly rules: string }
  /**
   * A program that uses the client as it comes: nothing is set but where the API is, who asks, and, where the program is said to
   * be impatient, the time-out in milliseconds.
   */
  readonly open: (url: string, timeout?: number) => Call | Promise<Call>
  /** An answer that is cut is no error to this client: only its time-out ends the call. */
  readonly hangsWhenCut?: true
  /** Its errors say the status at most: what the gateway has to say reaches only who asks for the body. */
  readonly showsNoReason?: true
  /** It comes again whatever it is told: only its time-out ends the call. */
  readonly neverGivesUp?: true
}

export const QUESTION = 'Write it down.'

/** For clients that know a signal, but no time-out of their own. */
export function signalAfter(timeout: number | undefined): { signal: AbortSignal } | undefined {
  return timeout === undefined ? undefined : { signal: AbortSignal.timeout(timeout) }
}

/** Reads a text that comes in pieces. */
export async function joined<T>(pieces: AsyncIterable<T>, read: (piece: T) => string | undefined): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += read(piece) ?? ''
  return text
}
