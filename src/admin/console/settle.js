// An operator's word on a record, in a dialog: what was found, the result where there is one, and why.
import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import { call } from './api.js'
import { Fault, Field } from './parts.js'
import { refresh } from './state.js'

const WORDS = [
  ['release', 'It has not happened', 'The next request of the same fingerprint executes, as a further attempt.'],
  ['complete', 'It has happened', 'The answer that you give is stored, and everybody who asks again gets it.'],
  ['fail', 'It has failed', 'As a failure of the upstream: the rule says what a duplicate gets.'],
]

export function Settle({ record, onDone }) {
  const [action, setAction] = useState('release')
  const path = `records/${record.fingerprint}/${action}`
  const send = (form) => call('POST', path + why(form), action === 'release' ? undefined : resultOf(form, action))
  return html`<${Ask} title="What became of it?" open="Say what became of it" main=${true} send=${send} onDone=${onDone} word="Record it">
    <fieldset>
      <legend class="unseen">What became of it</legend>
      ${WORDS.map(
        ([value, title, text]) =>
          html`<label class="choice" key=${value}>
            <input type="radio" name="action" value=${value} checked=${action === value} onChange=${() => setAction(value)} />
            <span><strong>${title}</strong><small>${text}</small></span>
          </label>`,
      )}
    </fieldset>
    ${
      action !== 'release' &&
      html`<div class="pair narrow">
          <${Field} label="HTTP status"
            ><input
              name="status"
              inputmode="numeric"
              pattern="[2-5][0-9]{2}"
              required=${action === 'complete'}
              placeholder=${action === 'complete' ? '200' : '422'}
          /><//>
          <${Field} label="Content-Type"><input name="type" class="code" placeholder="application/json" /><//>
        </div>
        <${Field} label="Body of the answer"><textarea name="body" class="code" rows="4" spellcheck=${false}></textarea><//>`
    }
  <//>`
}

export function Forget({ record, onDone }) {
  const send = (form) => call('DELETE', `records/${record.fingerprint}${why(form)}`)
  const warning = record.status === 'failed' ? '' : ' If it has happened already, it then happens twice.'
  return html`<${Ask} title="Forget this record?" open="Forget it" send=${send} onDone=${onDone} word="Forget it">
    <p>The next request of this fingerprint executes, as if it were the first.${warning}</p>
  <//>`
}

/** A button, and the dialog that it opens. The browser keeps the focus in it, and gives it back. */
function Ask({ title, open, main, word, send, onDone, children }) {
  const dialog = useRef(null)
  const [state, setState] = useState({ busy: false, fault: '' })
  const submit = async (event) => {
    event.preventDefault()
    setState({ busy: true, fault: '' })
    try {
      await send(new FormData(event.target))
      dialog.current?.close()
      setState({ busy: false, fault: '' })
      void onDone()
      void refresh()
    } catch (error) {
      setState({ busy: false, fault: error.message })
    }
  }
  return html` <button class=${main ? 'main' : ''} onClick=${() => dialog.current.showModal()}>${open}</button>
    <dialog ref=${dialog} aria-label=${title}>
      <form onSubmit=${submit}>
        <h2>${title}</h2>
        ${children}
        <${Field} label="Why" hint="For the audit log and the timeline"><input name="reason" maxlength="500" autocomplete="off" /><//>
        <${Fault} message=${state.fault} />
        <div class="actions end">
          <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
          <button class="main" disabled=${state.busy}>${word}</button>
        </div>
      </form>
    </dialog>`
}

function why(form) {
  const reason = form.get('reason').trim()
  return reason === '' ? '' : `?reason=${encodeURIComponent(reason)}`
}

/** Of a failure there need not be an answer. */
function resultOf(form, action) {
  const [status, type, body] = ['status', 'type', 'body'].map((name) => form.get(name).trim())
  if (action === 'fail' && status === '' && body === '') return undefined
  return { status: Number(status), headers: type === '' ? {} : { 'Content-Type': type }, body }
}
