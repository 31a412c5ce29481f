// One record: what is known of it, what has happened to it, and what an operator can say.
import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from './api.js'
import { Fault, Status } from './parts.js'
import { Forget, Settle } from './settle.js'
import { now, overview } from './state.js'
import { Timeline } from './timeline.js'
import { clock, count, duration } from './words.js'

const SAID = {
  unknown: 'The request was sent, and no whole answer came: it may have happened, or not. Look at the upstream, then say what you found.',
  processing: 'An execution holds it, and renews its lease. There is nothing to say until it has ended.',
  pending: 'It waits until another execution of its group has ended.',
  completed: 'The answer is stored. Whoever asks again gets it.',
  failed: 'It did not happen. The next request may execute.',
  expired: 'Its result is no longer kept, and a tombstone refuses it still.',
}

export function Record({ fingerprint }) {
  const [state, setState] = useState({ record: undefined, fault: '', gone: false })
  const load = async () => {
    try {
      setState({ record: await call('GET', `records/${encodeURIComponent(fingerprint)}`), fault: '', gone: false })
    } catch (error) {
      // A store that is away for a moment takes nobody's dialog away.
      const gone = error.problem?.status === 404
      setState((before) => ({ record: gone ? undefined : before.record, fault: error.message, gone }))
    }
  }
  // Read again with each overview: others may have a word on it, too. One that is gone does not come back by looking.
  const beat = state.gone ? undefined : overview.value
  useEffect(() => void load(), [fingerprint, beat])

  const { record, fault } = state
  return html`<section aria-labelledby="record-title">
    <p class="crumbs"><a href="#/records">Records</a></p>
    <h1 id="record-title" class="record">
      ${record === undefined ? 'A record' : html`<${Status} status=${record.status} /> ${record.rule}`}
    </h1>
    <p class="code whole">${fingerprint}</p>
    <${Fault} message=${fault} />
    ${
      record !== undefined &&
      html` <p class="lead">${SAID[record.status]}</p>
        <div class="actions">
          ${record.status === 'unknown' && html`<${Settle} record=${record} onDone=${load} />`}
          ${!['processing', 'pending'].includes(record.status) && html`<${Forget} record=${record} onDone=${load} />`}
        </div>
        <div class="columns">
          <section aria-labelledby="known-title">
            <h2 id="known-title">What is known</h2>
            <${Known} record=${record} />
          </section>
          <section aria-labelledby="timeline-title">
            <h2 id="timeline-title">What has happened</h2>
            <${Timeline} steps=${record.timeline} />
          </section>
        </div>`
    }
  </section>`
}

function Known({ record }) {
  const rows = [
    ['Rule', html`<a href=${`#/rules/${encodeURIComponent(record.rule)}`}>${record.rule}</a>`],
    ['Attempt', record.attempt],
    ['Asked again', `${count(record.duplicates)} ${record.duplicates === 1 ? 'time' : 'times'}`],
    ['Execution', html`<span class="code">${record.execution}</span>`],
    ['First asked', clock(record.created_at)],
    ['Last changed', clock(record.last_updated_at)],
    ['Kept until', record.expires_at === undefined ? 'for ever' : `${clock(record.expires_at)}, ${left(record.expires_at)}`],
    record.lease_left_ms !== undefined && ['Lease', `${duration(record.lease_left_ms)} left`],
    ['Owner', record.owner === undefined ? 'nobody in particular' : html`<span class="code">${record.owner}</span>`],
    record.http_status !== undefined && ['Answer', `HTTP ${record.http_status}`],
    record.result_hash !== undefined && ['Body', html`<span class="code">${record.result_hash}</span>`],
  ].filter(Boolean)
  return html`<dl>
    ${rows.map(
      ([term, value]) =>
        html`<div key=${term}>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

function left(at) {
  return `in ${duration(Math.max(0, Date.parse(at) - now.value))}`
}
