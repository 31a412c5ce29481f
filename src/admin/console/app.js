// The console: signing in, the head with its pages, and which of them is shown.
import { html, render } from 'htm/preact'
import { locked, signIn, signOut, token } from './api.js'
import { Live } from './live.js'
import { Fault, Field } from './parts.js'
import { Record } from './record.js'
import { Records } from './records.js'
import { Rules } from './rules.js'
import { fault, overview, place, refresh } from './state.js'
import { Try } from './try.js'

const PAGES = [
  ['', 'Live'],
  ['records', 'Records'],
  ['rules', 'Rules'],
  ['try', 'Try a request'],
]

function App() {
  if (locked.value) return html`<${SignIn} />`
  const [page, name] = place.value
  return html` <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header>
      <span class="mark"><img src="console/icon.svg" alt="" width="22" height="22" />oncegate</span>
      <nav aria-label="Pages">
        ${PAGES.map(([path, title]) => html`<a key=${path} href=${`#/${path}`} aria-current=${path === page ? 'page' : undefined}>${title}${path === '' && html`<${UnknownCount} />`}</a>`)}
      </nav>
      ${token.value !== '' && html`<button class="quiet" onClick=${signOut}>Sign out</button>`}
    </header>
    <main id="main" tabindex="-1">
      <${Fault} message=${fault.value} />
      ${overview.value === undefined ? fault.value === '' && html`<p class="empty">Asking the gateway…</p>` : pageOf(page, name)}
    </main>`
}

function pageOf(page, name) {
  if (page === 'records') return name ? html`<${Record} key=${name} fingerprint=${name} />` : html`<${Records} />`
  if (page === 'rules') return html`<${Rules} selected=${name} />`
  return page === 'try' ? html`<${Try} />` : html`<${Live} />`
}

function skip(event) {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function UnknownCount() {
  const count = overview.value?.unknown.count ?? 0
  return count === 0
    ? null
    : html` <span class="count" title="outcomes that nobody knows">${count}<span class="unseen"> unknown</span></span>`
}

function SignIn() {
  const submit = (event) => {
    event.preventDefault()
    signIn(new FormData(event.target).get('token').trim())
    void refresh()
  }
  return html`<main class="alone">
    <h1><img src="console/icon.svg" alt="" width="28" height="28" /> oncegate</h1>
    <form onSubmit=${submit}>
      <${Field} label="Admin token" hint="adminToken in the configuration. It stays in this tab, and is never part of an address.">
        <input name="token" type="password" autocomplete="current-password" required autofocus />
      <//>
      ${token.value !== '' && html`<p class="fault" role="alert">This is not the token of this gateway.</p>`}
      <button class="main">Sign in</button>
    </form>
  </main>`
}

render(html`<${App} />`, document.getElementById('app'))
void refresh()
