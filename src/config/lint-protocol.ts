// A JSON-RPC rule that counts the name of a call: each call of a client has another, and no two would be the same.
import type { Finding, Place } from './mistakes.ts'
import { asList, asMapping, asTexts } from './plain-values.ts'
import { type RuleView } from './rule-view.ts'

const ID = 'id'
const BODY_ID = 'body.id'

export function warnOfIds({ settings, placeOf }: RuleView): Finding[] {
  if (settings['protocol'] !== 'jsonrpc') return []
  const parts = asMapping(settings['fingerprint'])
  const named = Object.entries(parts)
    .filter(([, part]) => countsId(part))
    .map(([name]) => warning([...placeOf('fingerprint'), name], 'leave it out: { from: body, apply: [{ omit: [id, params._meta] }] }'))
  const digest = settings['digest'] === undefined && Object.hasOwn(parts, 'key') ? ['body'] : asTexts(settings['digest'])
  const ignored = asTexts(settings['digestIgnore']).includes(BODY_ID)
  const compared = !ignored && (digest.includes('body') || digest.includes(BODY_ID))
  const place = settings['digest'] === undefined ? placeOf('protocol') : placeOf('digest')
  return compared ? [...named, warning(place, 'leave it out: digestIgnore: [body.id, body.params._meta]')] : named
}

function countsId(part: unknown): boolean {
  const { from, apply } = typeof part === 'string' ? { from: part } : asMapping(part)
  const sources = asTexts(from)
  if (sources.includes(BODY_ID)) return true
  const steps = asList(apply).map(asMapping)
  return sources.includes('body') && !steps.some(({ omit, pick }) => asList(omit).includes(ID) || pick !== undefined)
}

function warning(place: Place, hint: string): Finding {
  const message = "the call's id counts, which is another one for each call: a client's second try would not be recognised"
  return { place, at: 'value', message, hint }
}
