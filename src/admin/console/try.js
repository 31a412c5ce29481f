// How a request would be identified, part by part. Nothing is sent to the upstream.
import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { call } from './api.js'
import { Fault, Field } from './parts.js'

const METHODS = ['POST', 'PATCH', 'PUT', 'DELETE', 'GET']

export function Try() {
  const [state, setState] = useState({ explanation: undefined, fault: '' })
  const submit = async (event) => {
    event.preventDefault()
    const form = new FormData(event.target)
    try {
      const body = { method: form.get('method'), url: form.get('url').trim(), headers: headersOf(form.get('headers')) }
      if (form.get('body') !== '') body.body = form.get('body')
      setState({ explanation: await call('POST', 'explain', body), fault: '' })
    } catch (error) {
      setState({ explanation: undefined, fault: error.message })
    }
  }
  return html`<section aria-labelledby="try-title">
    <h1 id="try-title">Try a request</h1>
    <p class="lead">Which rule would guard it, and under which name. Nothing is sent, and nothing is kept.</p>
    <form class="panel" onSubmit=${submit}>
      <div class="pair narrow">
        <${Field} label="Method"
          ><select name="method">
            ${METHODS.map((method) => html`<option key=${method}>${method}</option>`)}
          </select><//
        >
        <${Field} label="Path or URL"
          ><input name="url" class="code" required placeholder="/pay?currency=EUR" autocomplete="off" spellcheck=${false}
        /><//>
      </div>
      <div class="pair">
        <${Field} label="Headers" hint="One a line: Name: value">
          <textarea
            name="headers"
            class="code"
            rows="5"
            spellcheck=${false}
            placeholder=${'Authorization: Bearer …\nIdempotency-Key: order-77'}
          ></textarea>
        <//>
        <${Field} label="Body">
          <textarea name="body" class="code" rows="5" spellcheck=${false} placeholder=${'{ "amount": 100 }'}></textarea>
        <//>
      </div>
      <button class="main">Explain</button>
    </form>
    <${Fault} message=${state.fault} />
    ${state.explanation !== undefined && html`<${Explained} of=${state.explanation} />`}
  </section>`
}

function headersOf(text) {
  const headers = {}
  for (const line of text
    .split('\n')
    .map((one) => one.trim())
    .filter((one) => one !== '')) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new Error(`"${line}" is no header: write Name: value`)
    const name = line.slice(0, colon).trim()
    headers[name] = [...(Object.hasOwn(headers, name) ? headers[name] : []), line.slice(colon + 1).trim()]
  }
  return headers
}

function Explained({ of: { rule, outcome, reason, problem, rules, parts, owner, fingerprint, digest, digestFields } }) {
  const told = problem === undefined ? outcome : `${outcome} with ${problem.status} ${problem.name}`
  const said = told[0].toUpperCase() + told.slice(1)
  return html`<section aria-labelledby="explained-title" role="status">
    <h2 id="explained-title">${rule === null ? said : `${said} by “${rule}”`}</h2>
    ${(reason ?? problem?.detail) && html`<p class="lead">${reason ?? problem.detail}</p>`}
    <div class="columns">
      <div>
        <h3>The parts of its name</h3>
        ${parts.length === 0 ? html`<p class="empty">None was read.</p>` : html`<dl>${parts.map((part) => html`<${Part} key=${part.name} part=${part} />`)}</dl>`}
        <dl>
          ${
            owner !== null &&
            html`<div>
              <dt>owner</dt>
              <dd>${owner.kind}${owner.source !== null && html` <span class="soft">${owner.source}</span>`}</dd>
            </div>`
          }
          ${
            fingerprint !== null &&
            html`<div>
              <dt>fingerprint</dt>
              <dd><a class="code" href=${`#/records/${fingerprint}`}>${fingerprint}</a></dd>
            </div>`
          }
          ${
            fingerprint !== null &&
            html`<div>
              <dt>digest</dt>
              <dd class="code">${digest ?? 'none: nothing else is compared'}</dd>
            </div>`
          }
          ${
            digestFields.length > 0 &&
            html`<div>
              <dt>compared</dt>
              <dd class="code">${digestFields.join(', ')}</dd>
            </div>`
          }
        </dl>
      </div>
      <div>
        <h3>The rules, in order</h3>
        <ol class="verdicts">
          ${rules.map(({ rule: name, verdict, detail }) => html`<li key=${name} class=${verdict === 'guards' ? 'guards' : ''}><strong>${name}</strong> <span class="soft">${detail}</span></li>`)}
        </ol>
      </div>
    </div>
  </section>`
}

function Part({ part: { name, tried, source, canonical } }) {
  const raw = tried.at(-1)?.raw ?? []
  return html`<div>
    <dt>${name}</dt>
    <dd>
      <span class="code">${canonical ?? 'missing'}</span>
      <small
        >${source === null ? 'a constant, the default, or not there' : `from ${source}`}${raw.length > 0 && `, sent as ${raw.map((value) => JSON.stringify(value)).join(', ')}`}</small
      >
    </dd>
  </div>`
}
