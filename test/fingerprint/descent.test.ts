// Selectors with `..`: what they look for is found at every depth that they read, and a body that is deeper is refused, never half read.
import t from 'tap'
import type { RuleConfig } from '../../src/config/gateway-config.ts'
import { DESCENT_LEVELS } from '../../src/config/selectors.ts'
import { fingerprint, identified, operation, refusal } from './requests.ts'

/** A body in which `inner` stands under so many levels, of arrays and objects in turn. */
function nested(levels: number, inner: string): string {
  let text = inner
  for (let level = 0; level < levels; level++) text = level % 2 === 0 ? `{"a":${text}}` : `[${text}]`
  return text
}

/** An object that holds x within its last level. */
const withX = (levels: number, x: number): string => nested(levels - 1, `{"x":${x}}`)

const byX: Partial<RuleConfig> = { fingerprint: { x: 'body..x' } }

t.test('found at every depth that is read, and always the same', async (t) => {
  const flat = fingerprint(byX, { body: '{"x":7}' })
  for (let levels = 1; levels <= DESCENT_LEVELS; levels++) {
    t.equal(fingerprint(byX, { body: withX(levels, 7) }), flat, `${levels} levels`)
    t.not(fingerprint(byX, { body: withX(levels, 8) }), flat)
  }
})

t.test('deeper: 400 that says why, whatever stands there and wherever else x stands', async (t) => {
  for (const levels of [DESCENT_LEVELS + 1, DESCENT_LEVELS + 2, 100, 512]) {
    const result = identified(byX, { body: withX(levels, 7) })
    t.match(result, { kind: 'refused', problem: { name: 'body-invalid', detail: /deeper than the 48 levels/ } }, `${levels} levels`)
    t.equal(refusal(byX, { body: `{"x":7,"b":${nested(levels, 'null')}}` }), 'body-invalid')
  }
  t.match(identified(byX, { body: withX(513, 7) }), { kind: 'refused', problem: { name: 'body-invalid', detail: /512/ } })
})

t.test('the same wherever a rule may say `..`', async (t) => {
  // A filter begins a level further down.
  const deep = withX(DESCENT_LEVELS + 2, 7)
  const good = withX(DESCENT_LEVELS, 7)
  const settings: Record<string, Partial<RuleConfig>> = {
    'a list of sources': { fingerprint: { x: { from: ['header.none', 'body..x'], optional: true } } },
    'a filter': { fingerprint: { x: 'body[?@..x]' } },
    'two in a row': { fingerprint: { x: 'body..a..x' } },
    'an owner': { owner: ['body..x'], fingerprint: { b: 'body' } },
    'a digest': { fingerprint: { v: { value: 1 } }, digest: ['body..x'] },
    'what a digest ignores': { fingerprint: { v: { value: 1 } }, digest: ['body'], digestIgnore: ['body..x'] },
    'omit at every depth': { fingerprint: { b: { from: 'body', optional: false, apply: [{ omit: ['..x'] }] } } },
    'pick at every depth': { fingerprint: { b: { from: 'body', optional: false, apply: [{ pick: ['..x'] }] } } },
    where: { fingerprint: { v: { value: 1 } }, match: { methods: ['POST'], paths: [], where: { 'body..x': [7] } } },
    'retry evidence': { fingerprint: { b: 'body' }, retryEvidence: 'body..x' },
  }
  for (const [name, setting] of Object.entries(settings)) {
    if (name === 'where') t.throws(() => identified(setting, { body: deep }), /refused/, name)
    else t.equal(identified(setting, { body: deep }).kind, 'refused', name)
    t.equal(identified(setting, { body: good }).kind, 'guarded', name)
  }
})

t.test('what is left out at every depth does not count', async (t) => {
  const rule: Partial<RuleConfig> = {
    fingerprint: { b: { from: 'body', optional: false, apply: [{ omit: ['..x'] }] } },
    digest: ['body'],
    digestIgnore: ['body..x'],
  }
  const of = (x: number) => operation(rule, { body: withX(DESCENT_LEVELS, x) })
  t.same([of(1).fingerprint, of(1).digest], [of(2).fingerprint, of(2).digest])
})
