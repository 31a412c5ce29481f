// What has happened to a record, in the order of time.
import { html } from 'htm/preact'
import { Status } from './parts.js'
import { clock, duration } from './words.js'

export function Timeline({ steps }) {
  return html`<ol class="timeline">
    ${steps.map(
      (step, at) =>
        html`<li key=${at} class=${step.to}>
          <div>
            <${Status}
              status=${step.to}
            />${step.attempt !== undefined && html` <span class="soft">attempt ${step.attempt}</span>`}${step.by === 'operator' && html` <span class="soft">by an operator</span>`}
          </div>
          ${step.reason !== undefined && html`<p>${step.reason}</p>`}
          <time datetime=${step.at}>${clock(step.at)}${at > 0 && html`<span class="soft"> · ${after(steps[at - 1], step)}</span>`}</time>
        </li>`,
    )}
  </ol>`
}

function after(before, step) {
  return `${duration(Math.max(0, Date.parse(step.at) - Date.parse(before.at)))} later`
}
