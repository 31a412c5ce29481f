// One request of the command line to a gateway's admin port.
import { UsageError } from './usage-error.ts'

export interface AdminOptions {
  readonly admin: string
  readonly token?: string
}

type Environment = Readonly<Record<string, string | undefined>>

export interface RecordsConsole {
  readonly env: Environment
  readonly out: { write(text: string): unknown }
  /** `isTTY`: somebody watches, and is told how far it has come. */
  readonly err: { write(text: string): unknown; readonly isTTY?: boolean }
}

/** What the admin port has answered: a document, or a problem. */
export interface AdminAnswer {
  readonly ok: boolean
  readonly document: Readonly<Record<string, unknown>>
}

const ANSWER_WITHIN_MS = 30_000

/** Rejects where nobody answers, or somebody who is no admin port. */
export async function askAdmin(
  { admin, token }: AdminOptions,
  env: Environment,
  { method, path, body }: { method: string; path: string; body?: object | undefined },
): Promise<AdminAnswer> {
  const base = adminUrl(admin)
  const credential = token ?? env['ONCEGATE_ADMIN_TOKEN'] ?? ''
  let text: string
  let ok: boolean
  try {
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(credential !== '' && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    text = await answer.text()
    ok = answer.ok
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw new Error(`${admin} did not answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause: error })
  }
  return { ok, document: documentOf(text) }
}

/** A URL, or the address as the configuration writes it. */
function adminUrl(admin: string): string {
  const url = /^[^/]+:\d+$/.test(admin) ? `http://${admin}` : admin
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError('--admin takes an address like 127.0.0.1:9080, or its URL')
  return url.replace(/\/+$/, '')
}

function documentOf(text: string): Readonly<Record<string, unknown>> {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    read = undefined
  }
  if (typeof read !== 'object' || read === null) throw new Error('the answer is not the admin port of a gateway')
  return read as Readonly<Record<string, unknown>>
}
