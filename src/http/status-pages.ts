// What the pages under the status path have in common: whose record it is, and what is told of it.
import { timingSafeEqual } from 'node:crypto'
import { headerLines, passedOn } from '../model/headers.ts'
import { problem } from '../model/problems.ts'
import { wholeSeconds } from '../model/problem-document.ts'
import { recordDocument } from '../model/record-document.ts'
import { isInFlight, type RecordView } from '../model/record.ts'
import type { FingerprintKeys } from '../fingerprint/keys.ts'
import { ownerTag } from '../fingerprint/owner.ts'
import type { Rule } from '../fingerprint/compile-rule.ts'
import { type Gate, timeLeft } from '../idempotency/gate.ts'
import type { Waiter } from '../idempotency/wait.ts'
import type { Exchange } from './exchange.ts'
import { requestParts } from './request-parts.ts'
import type { TokenVerifier } from './verify-token.ts'

/** A status page's path says nothing of the one that was guarded. */
const NO_PATH = { params: {} }

export interface StatusRoute {
  readonly statusPath: string
  readonly gate: Gate
  readonly keys: () => FingerprintKeys | undefined
  readonly rules: ReadonlyMap<string, Rule>
  /** Rules of that name as other versions of the configuration have them, whose records may live. */
  readonly otherVersions: (rule: string) => readonly Rule[]
  readonly verifyToken: TokenVerifier | undefined
}

export async function isOwner(route: StatusRoute, exchange: Exchange, record: RecordView, keys: FingerprintKeys): Promise<boolean> {
  const current = route.rules.get(record.rule)
  // A tag says from where it was read, so that no version's can be taken for another's.
  const rules = [...(current === undefined ? [] : [current]), ...route.otherVersions(record.rule)]
  const headers = passedOn(exchange.raw.rawHeaders)
  const token = rules.some(({ readsClaims }) => readsClaims) ? await route.verifyToken?.(headerLines(headers, 'authorization')) : undefined
  const request = requestParts(exchange, headers, Buffer.alloc(0))
  const shown = token?.kind === 'verified' ? { ...request, claims: token.claims } : request
  return rules.map((rule) => isTag(ownerTag(rule, shown, NO_PATH, keys), record.owner)).includes(true)
}

function isTag(tag: string | undefined, owner: string): boolean {
  return tag !== undefined && tag.length === owner.length && timingSafeEqual(Buffer.from(tag), Buffer.from(owner))
}

export function statusDocument(route: StatusRoute, record: RecordView): object {
  const rule = route.rules.get(record.rule)
  const { response } = record
  return {
    ...recordDocument(record),
    result_url: response?.bodyStored === true ? `${route.statusPath}/${record.fingerprint}/result` : undefined,
    retry_after: isInFlight(record.status) && rule !== undefined ? wholeSeconds(timeLeft(route.gate, rule.config, record)) : undefined,
  }
}

export function unknownFingerprint() {
  return problem('unknown-fingerprint', 'No record of this fingerprint: it was never issued here, has expired, or is not yours.')
}

export function maxWait(route: StatusRoute, record: RecordView): number {
  return route.rules.get(record.rule)?.config.inFlight.maxWait ?? 0
}

export function waiterOf({ client }: Exchange, limitMs: number): Waiter {
  return { limitMs, gone: () => client.gone, onGone: (wake) => client.onGone(wake) }
}
