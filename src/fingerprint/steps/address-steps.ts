// Steps on addresses: of pages (WHATWG URL) and of mailboxes.
import { hash } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { encode } from '../canonical.ts'
import { onEach, shortText } from './step.ts'

/** Scheme and host in small letters, no default port, no fragment, no needless escapes; path and query as they are. */
export const url = onEach((value) => {
  if (typeof value !== 'string') return undefined
  const text = shortText(value, 'url').trim()
  if (!URL.canParse(text)) return undefined
  const parsed = new URL(text)
  if (parsed.host === '') return undefined
  parsed.hash = ''
  return parsed.href.replaceAll(/%[0-9A-Fa-f]{2}/g, plainEscape)
})

/** RFC 3986 section 6.2.2: what need not be escaped is not, and the rest is written in capitals. */
function plainEscape(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
  return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase()
}

/** In small letters all over: no provider tells mailboxes apart by capitals. Tags (`+news`) and dots stay. */
export const email = onEach((value) => {
  if (typeof value !== 'string') return undefined
  const text = shortText(value, 'email').trim().normalize('NFC')
  const [, local, host] = /^([^\s@<>"]+)@([^\s@<>"]+)$/u.exec(text) ?? []
  const domain = host === undefined ? '' : domainToASCII(host.replace(/\.$/, ''))
  return local === undefined || domain === '' ? undefined : `${local.toLowerCase()}@${domain}`
})

/** Of a text's UTF-8 or of bytes as they are; of anything else its canonical form. */
export const sha256 = onEach((value) => {
  if (typeof value === 'string' || value instanceof Uint8Array) return hash('sha256', value, 'hex')
  return hash('sha256', encode(value), 'hex')
})
