// What needs somebody's word first, then what runs, and what is asked for again and again.
import { html } from 'htm/preact'
import { Ago, Empty, Fingerprint, Table } from './parts.js'
import { overview } from './state.js'
import { clock, count, duration } from './words.js'

export function Live() {
  const { unknown, in_flight: running, storms, rules, last_pass: pass } = overview.value
  return html` <section aria-labelledby="unknown-title">
      <h1 id="unknown-title">Unknown outcomes ${unknown.count > 0 && html`<span class="count">${count(unknown.count)}</span>`}</h1>
      <${Unknown} unknown=${unknown} />
      <p class="note">
        ${pass === undefined ? 'The first look through the store is under way.' : html`All ${count(pass.records)} records of the store were last looked at <${Ago} at=${pass.at} />.`}
      </p>
    </section>
    <section aria-labelledby="running-title">
      <h2 id="running-title">In flight ${running.length > 0 && html`<span class="soft">${count(running.length)}</span>`}</h2>
      <${Running} running=${running} rules=${rules} />
    </section>
    <section aria-labelledby="storms-title">
      <h2 id="storms-title">Retry storms</h2>
      <${Storms} storms=${storms} />
    </section>`
}

const UNKNOWN_COLUMNS = [
  { title: 'Record' },
  { title: 'Rule' },
  { title: 'Attempt', number: true },
  { title: 'Asked again', number: true },
  { title: 'Unknown for', number: true },
  { title: 'Kept until' },
  { title: '' },
]

function Unknown({ unknown: { count: total, records } }) {
  if (total === 0) return html`<${Empty}>Nothing waits for you: of every request that was sent, the outcome is known.<//>`
  if (records.length === 0) return html`<${Empty}>The records are being read.<//>`
  const rows = records
    .toSorted((a, b) => a.last_updated_at.localeCompare(b.last_updated_at))
    .map((record) => [
      record.fingerprint,
      html`<${Fingerprint} of=${record.fingerprint} />`,
      html`<a class="plain" href=${`#/rules/${encodeURIComponent(record.rule)}`}>${record.rule}</a>`,
      record.attempt,
      count(record.duplicates),
      html`<${Since} at=${record.last_updated_at} />`,
      record.expires_at === undefined ? 'for ever' : clock(record.expires_at),
      html`<a class="button" href=${`#/records/${record.fingerprint}`} aria-label=${`Resolve ${record.fingerprint.slice(0, 12)}`}
        >Resolve</a
      >`,
    ])
  return html`<${Table} caption="Records whose outcome nobody knows, the oldest first" columns=${UNKNOWN_COLUMNS} rows=${rows} />`
}

function Since({ at }) {
  return html`<time datetime=${at} title=${clock(at)}>${duration(Math.max(0, Date.parse(overview.value.now) - Date.parse(at)))}</time>`
}

const RUNNING_COLUMNS = [
  { title: 'Record' },
  { title: 'Rule' },
  { title: 'Attempt', number: true },
  { title: 'Age', number: true },
  { title: 'Against the usual' },
  { title: 'Where' },
]

function Running({ running, rules }) {
  if (running.length === 0) return html`<${Empty}>Nothing runs just now. An execution shows here from its first byte to its last.<//>`
  const usual = new Map(rules.map(({ name, usual_ms: ms }) => [name, ms]))
  const rows = running.map((one) => [
    one.execution,
    html`<${Fingerprint} of=${one.fingerprint} />`,
    html`<a class="plain" href=${`#/rules/${encodeURIComponent(one.rule)}`}>${one.rule}</a>`,
    one.attempt,
    duration(one.age_ms),
    html`<${Against} age=${one.age_ms} usual=${usual.get(one.rule)} />`,
    one.here ? 'here' : 'another gateway',
  ])
  return html`<${Table} caption="Executions in flight, the oldest first" columns=${RUNNING_COLUMNS} rows=${rows} />`
}

/** A bar whose middle is the usual duration. */
function Against({ age, usual }) {
  if (usual === undefined) return html`<span class="soft">none has ended yet</span>`
  const times = age / Math.max(usual, 1)
  const words = `usually ${duration(usual)}`
  return html`<span class="against">
    <span class="bar ${times > 1 ? 'over' : ''}" aria-hidden="true"><span style=${{ width: `${Math.min(100, times * 50)}%` }}></span></span>
    <span class="soft">${times >= 2 ? `${count(Math.floor(times))} × the usual ${duration(usual)}` : words}</span>
  </span>`
}

const STORM_COLUMNS = [{ title: 'Record' }, { title: 'Rule' }, { title: 'Noticed', number: true }]

function Storms({ storms }) {
  if (storms.length === 0) return html`<${Empty}>No client has asked for the same thing again and again.<//>`
  const rows = storms.map(({ fingerprint, rule, at }) => [
    `${fingerprint} ${at}`,
    html`<${Fingerprint} of=${fingerprint} />`,
    html`<a class="plain" href=${`#/rules/${encodeURIComponent(rule)}`}>${rule}</a>`,
    html`<${Ago} at=${at} />`,
  ])
  return html`<${Table}
    caption="Fingerprints that were asked for again and again, the latest first"
    columns=${STORM_COLUMNS}
    rows=${rows}
  />`
}
