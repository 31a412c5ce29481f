// The records by what they are, page by page, and the way to one by a client's key.
import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from './api.js'
import { Find } from './find.js'
import { Ago, Empty, Fault, Field, Fingerprint, Status, Table } from './parts.js'
import { overview } from './state.js'
import { count } from './words.js'

const COLUMNS = [
  { title: 'Record' },
  { title: 'Status' },
  { title: 'Rule' },
  { title: 'Attempt', number: true },
  { title: 'Asked again', number: true },
  { title: 'HTTP', number: true },
  { title: 'Changed', number: true },
]

const STATUSES = ['', 'unknown', 'processing', 'completed', 'failed']

export function Records() {
  const [filter, setFilter] = useState({ status: '', rule: '' })
  const [state, setState] = useState({ records: [], cursor: null, looked: 0, busy: true, fault: '' })

  const load = async (cursor, kept) => {
    setState((before) => ({ ...before, busy: true, fault: '' }))
    const query = new URLSearchParams(Object.entries({ ...filter, cursor: cursor ?? '' }).filter(([, value]) => value !== ''))
    try {
      const page = await call('GET', `records?${query}`)
      setState({ ...page, records: [...kept.records, ...page.records], looked: kept.looked + page.looked, busy: false, fault: '' })
    } catch (error) {
      setState((before) => ({ ...before, busy: false, fault: error.message }))
    }
  }
  useEffect(() => void load(null, { records: [], looked: 0 }), [filter])

  const choose = (name) => (event) => setFilter({ ...filter, [name]: event.target.value })
  const { records, cursor, looked, busy, fault } = state
  return html` <section aria-labelledby="records-title">
      <h1 id="records-title">Records</h1>
      <form class="filters" onSubmit=${(event) => event.preventDefault()}>
        <${Field} label="Status"
          ><select value=${filter.status} onChange=${choose('status')}>
            ${STATUSES.map((status) => html`<option key=${status} value=${status}>${status || 'any'}</option>`)}
          </select><//
        >
        <${Field} label="Rule"
          ><select value=${filter.rule} onChange=${choose('rule')}>
            <option value="">any</option>
            ${overview.value?.rules.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}
          </select><//
        >
        <button type="button" onClick=${() => load(null, { records: [], looked: 0 })}>Look again</button>
      </form>
      <${Fault} message=${fault} />
      <${List} records=${records} busy=${busy} cursor=${cursor} />
      <p class="note" role="status">
        ${busy ? 'Looking…' : `${count(records.length)} shown, ${count(looked)} looked at.`}
        ${!busy && cursor !== null && html` <button onClick=${() => load(cursor, { records, looked })}>Show more</button>`}
      </p>
    </section>
    <${Find} />`
}

function List({ records, busy, cursor }) {
  if (records.length === 0) {
    if (busy) return null
    return html`<${Empty}
      >${cursor === null ? 'No such records. The first guarded request makes one.' : 'None so far; there are more to look at.'}<//
    >`
  }
  const rows = records.map((record) => [
    record.fingerprint,
    html`<${Fingerprint} of=${record.fingerprint} />`,
    html`<${Status} status=${record.status} />`,
    record.rule,
    record.attempt,
    count(record.duplicates),
    record.http_status ?? '–',
    html`<${Ago} at=${record.last_updated_at} />`,
  ])
  return html`<${Table} caption="Records" columns=${COLUMNS} rows=${rows} />`
}
