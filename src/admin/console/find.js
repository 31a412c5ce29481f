// From what a client has sent, or from a fingerprint of a log line, to its record.
import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { call } from './api.js'
import { Fault, Field } from './parts.js'
import { overview } from './state.js'

export function Find() {
  const [fault, setFault] = useState('')
  const byFingerprint = (event) => {
    event.preventDefault()
    const name = new FormData(event.target).get('fingerprint').trim()
    if (/^[A-Za-z0-9_-]{20,64}$/.test(name)) location.hash = `#/records/${name}`
    else setFault('This is no fingerprint: it has 44 letters, digits, _ and -.')
  }
  const byKey = async (event) => {
    event.preventDefault()
    const given = Object.fromEntries(new FormData(event.target))
    const body = { rule: given.rule, key: given.key, headers: given.credential === '' ? {} : { Authorization: given.credential } }
    if (given.url !== '') body.url = given.url
    try {
      const { fingerprint, records, reason, problem } = await call('POST', 'records/find', body)
      if (records.length > 0) location.hash = `#/records/${records[0].fingerprint}`
      else if (fingerprint === null) setFault(problem?.detail ?? reason ?? 'The request would not be guarded.')
      else setFault(`There is no record of this key of this owner. It would be ${fingerprint}.`)
    } catch (error) {
      setFault(error.message)
    }
  }
  return html`<section aria-labelledby="find-title">
    <h2 id="find-title">Find one</h2>
    <${Fault} message=${fault} />
    <div class="pair">
      <form class="panel" onSubmit=${byFingerprint}>
        <${Field} label="Fingerprint" hint="Idempotency-Fingerprint of a response, or fingerprint of a log line">
          <input name="fingerprint" class="code" autocomplete="off" spellcheck=${false} required />
        <//>
        <button>Open</button>
      </form>
      <form class="panel" onSubmit=${byKey}>
        <div class="pair">
          <${Field} label="Idempotency key"><input name="key" class="code" autocomplete="off" spellcheck=${false} required /><//>
          <${Field} label="Rule"
            ><select name="rule">
              ${overview.value?.rules.map(({ name }) => html`<option key=${name}>${name}</option>`)}
            </select><//
          >
        </div>
        <${Field} label="Authorization of its owner" hint="As the client sends it. It is used to compute the name, and kept nowhere.">
          <input name="credential" type="password" autocomplete="off" placeholder="Bearer …" />
        <//>
        <${Field} label="Path" hint="Only where the rule guards more than one"
          ><input name="url" class="code" autocomplete="off" spellcheck=${false} placeholder="/pay"
        /><//>
        <button>Find</button>
      </form>
    </div>
  </section>`
}
