// What all pages share: where one is, the latest overview, and how the rules' counts have grown since the page was opened.
import { signal } from '@preact/signals'
import { call, locked } from './api.js'
import { kindsOf } from './words.js'

const EVERY_MS = 2000
/** Ten minutes. */
const SAMPLES = 300

/** `#/records/<fingerprint>` → ['records', '<fingerprint>']. */
const readPlace = () => {
  const parts = location.hash.replace(/^#\/?/, '').split('/')
  return parts.map((part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return ''
    }
  })
}

export const place = signal(readPlace())
addEventListener('hashchange', () => (place.value = readPlace()))

export const overview = signal(undefined)
/** Why there is no newer one. */
export const fault = signal('')
/** The gateway's clock, on which ages are told. */
export const now = signal(Date.now())
/** Rates per second between two overviews, the latest last: { at, rules: { name: kinds } }. */
export const samples = signal([])

let before
let timer
let asking = false

/** Asks for the overview; the next one follows while somebody can see the page. */
export async function refresh() {
  clearTimeout(timer)
  if (asking) return
  asking = true
  try {
    const next = await call('GET', 'overview')
    addSample(next)
    overview.value = next
    now.value = Date.parse(next.now)
    fault.value = ''
  } catch (error) {
    // Whoever has to sign in is told there.
    fault.value = locked.value ? '' : error.message
  } finally {
    asking = false
  }
  if (!document.hidden && !locked.value) timer = setTimeout(refresh, EVERY_MS)
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(timer)
  if (!document.hidden) void refresh()
})

function addSample(next) {
  const at = Date.parse(next.now) / 1000
  const counts = Object.fromEntries(next.rules.map(({ name, requests }) => [name, kindsOf(requests)]))
  const seconds = before === undefined ? 0 : at - before.at
  // After a restart of the gateway the counts begin anew.
  if (seconds > 0 && before.startedAt === next.started_at) {
    const rules = {}
    for (const [name, kinds] of Object.entries(counts)) {
      const earlier = before.counts[name]
      if (earlier !== undefined)
        rules[name] = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, (kinds[kind] - earlier[kind]) / seconds]))
    }
    samples.value = [...samples.value.slice(1 - SAMPLES), { at, rules }]
  }
  before = { at, counts, startedAt: next.started_at }
}
