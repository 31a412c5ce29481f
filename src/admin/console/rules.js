// The rules: how many requests each has met, and what they came to; since the gateway's start, and as it goes.
import { html } from 'htm/preact'
import { Chart } from './chart.js'
import { Ago, Empty, Table } from './parts.js'
import { overview, samples } from './state.js'
import { count, duration, kindsOf, share } from './words.js'

const SERIES = [
  ['executed', 'accent'],
  ['replayed', 'ink', [6, 4]],
  ['in flight', 'soft', [2, 3]],
  ['mismatch', 'warn', [8, 3, 2, 3]],
  ['refused', 'bad'],
]
const KINDS = ['executed', 'replayed', 'inFlight', 'mismatch', 'refused']

const COLUMNS = [
  { title: 'Rule' },
  { title: 'Guarded', number: true },
  { title: 'Executed', number: true },
  { title: 'Hit', number: true },
  { title: 'Replay', number: true },
  { title: 'Mismatch', number: true },
  { title: 'Refusal', number: true },
  { title: 'Usual duration', number: true },
]

export function Rules({ selected }) {
  const { rules, started_at: startedAt } = overview.value
  const chosen = rules.find(({ name }) => name === selected)
  const rows = rules.map(({ name, mode, requests, usual_ms: usual }) => {
    const kinds = kindsOf(requests)
    const of = (part) => share(part, kinds.guarded)
    return [
      name,
      html`<a
          href=${name === selected ? '#/rules' : `#/rules/${encodeURIComponent(name)}`}
          aria-current=${name === selected ? 'true' : undefined}
          >${name}</a
        >${mode !== 'enforce' && html` <span class="soft">${mode}</span>`}`,
      count(kinds.guarded),
      count(kinds.executed),
      of(kinds.replayed + kinds.inFlight),
      of(kinds.replayed),
      of(kinds.mismatch),
      of(kinds.refused),
      usual === undefined ? '–' : duration(usual),
    ]
  })
  return html` <section aria-labelledby="rates-title">
      <h1 id="rates-title">${chosen === undefined ? 'All rules' : chosen.name}</h1>
      <${Rates} names=${chosen === undefined ? rules.map(({ name }) => name) : [chosen.name]} key=${selected} />
    </section>
    <section aria-labelledby="rules-title">
      <h2 id="rules-title">Since the start of this gateway, <${Ago} at=${startedAt} /></h2>
      <${Table} caption="Rules, and what their requests came to" columns=${COLUMNS} rows=${rows} />
      <p class="note">
        Hit: met a record, and was answered from it, joined it, or was told that it still runs. Mismatch: the same key with another content.
        Refusal: any other problem.
      </p>
    </section>
    ${chosen !== undefined && html`<${Outcomes} rule=${chosen} />`}`
}

function Rates({ names }) {
  const all = samples.value
  if (all.length < 2) return html`<${Empty}>Rates show once the page has looked a few times.<//>`
  const sum = (sample, kind) => names.reduce((total, name) => total + (sample.rules[name]?.[kind] ?? 0), 0)
  const data = [all.map(({ at }) => at), ...KINDS.map((kind) => all.map((sample) => sum(sample, kind)))]
  const latest = KINDS.map((kind, at) => `${String(SERIES[at][0])} ${sum(all.at(-1), kind).toFixed(1)}`).join(', ')
  return html`<${Chart}
      series=${SERIES}
      data=${data}
      label=${`Requests per second by what they came to, while this page is open. Now: ${latest}`}
    />
    <p class="note">Requests a second, while this page is open.</p>`
}

const OUTCOME_COLUMNS = [{ title: 'Outcome' }, { title: 'Requests', number: true }, { title: 'Share', number: true }]

function Outcomes({ rule: { requests } }) {
  const outcomes = Object.entries(requests).toSorted(([, a], [, b]) => b - a)
  const total = outcomes.reduce((sum, [, number]) => sum + number, 0)
  return html`<section aria-labelledby="outcomes-title">
    <h2 id="outcomes-title">What its requests came to</h2>
    ${outcomes.length === 0 ? html`<${Empty}>No request has met this rule yet.<//>` : html`<${Table} caption="Outcomes" columns=${OUTCOME_COLUMNS} rows=${outcomes.map(([name, number]) => [name, html`<span class="code">${name}</span>`, count(number), share(number, total)])} />`}
  </section>`
}
