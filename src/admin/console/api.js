// Calls to the admin port. The token goes in a header, and lives as long as this tab.
import { signal } from '@preact/signals'

const KEPT_UNDER = 'oncegate-admin-token'

const kept = () => {
  try {
    return sessionStorage.getItem(KEPT_UNDER) ?? ''
  } catch {
    return ''
  }
}

export const token = signal(kept())
/** True once the admin port has refused what it was shown. */
export const locked = signal(false)

export function signIn(given) {
  token.value = given
  locked.value = false
  try {
    sessionStorage.setItem(KEPT_UNDER, given)
  } catch {
    // The tab keeps it until it is reloaded.
  }
}

export function signOut() {
  token.value = ''
  locked.value = true
  try {
    sessionStorage.removeItem(KEPT_UNDER)
  } catch {
    // Nothing was kept.
  }
}

/** Rejects with an Error whose message is for people. */
export async function call(method, path, body) {
  const headers = {}
  if (token.value !== '') headers.Authorization = `Bearer ${token.value}`
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let answer
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), redirect: 'error' })
  } catch (cause) {
    throw new Error('The gateway does not answer.', { cause })
  }
  const text = await answer.text()
  let document
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw new Error(`The gateway answered ${answer.status}, and not in JSON.`, { cause })
  }
  if (answer.status === 401) locked.value = true
  if (!answer.ok) throw Object.assign(new Error(`${document.title}. ${document.detail}`), { problem: document })
  return document
}
