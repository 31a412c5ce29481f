// The small things that every page is made of.
import { html } from 'htm/preact'
import { now } from './state.js'
import { ago, clock, STATUS_WORDS } from './words.js'

export function Status({ status }) {
  return html`<span class="status ${STATUS_WORDS[status] === undefined ? '' : status}">${STATUS_WORDS[status] ?? status}</span>`
}

export function Ago({ at }) {
  return html`<time datetime=${at} title=${clock(at)}>${ago(at, now.value)}</time>`
}

/** Its beginning is enough to tell it from others; whole it is in the address and in the title. */
export function Fingerprint({ of }) {
  return html`<a class="name" href=${`#/records/${of}`} title=${of}>${of.slice(0, 12)}…</a>`
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`
}

export function Fault({ message }) {
  return message === '' ? null : html`<p class="fault" role="alert">${message}</p>`
}

/** Rows are [key, …cells]; on a narrow screen each cell says which column it is of. */
export function Table({ caption, columns, rows }) {
  return html`<table>
    <caption class="unseen">
      ${caption}
    </caption>
    <thead>
      <tr>
        ${columns.map(({ title, number }) => html`<th scope="col" class=${number ? 'number' : ''} key=${title}>${title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ([key, ...cells]) =>
          html`<tr key=${key}>
            ${cells.map((cell, at) => html`<td key=${at} class=${columns[at].number ? 'number' : ''} data-title=${columns[at].title}>${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`
}

export function Field({ label, hint, children }) {
  return html`<label class="field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}</label>`
}
