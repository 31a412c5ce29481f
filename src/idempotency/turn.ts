// What an acquire comes to for one request: the store's claim, or this process's own limits.
import type { Problem } from '../model/problems.ts'
import type { Claim } from '../stores/store.ts'
import type { Pass } from './limits.ts'

export type Acquired = Extract<Claim, { kind: 'acquired' }> & {
  /** Of a rule that has limits: to be left when the execution has ended. */
  readonly pass?: Pass
}

export type InFlight = Extract<Claim, { kind: 'in_flight' }>

/** It has a place in the line of its group. */
export type Pending = Extract<Claim, { kind: 'pending' }>

export type Turn =
  | Exclude<Claim, { kind: 'acquired' | 'unknown' | 'pending' }>
  | Acquired
  | (Extract<Claim, { kind: 'unknown' }> & {
      /** The upstream will be asked again, and not before this. */
      readonly askAgainMs?: number
    })
  /** This process executes no more for now; the record is as if nobody had come. */
  | { readonly kind: 'refused'; readonly problem: Problem }
