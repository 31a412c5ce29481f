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
  if (!/^https?:\/\//.test(admin) || !URL.canParse(admin)) throw new UsageError('--admin takes a URL like http://127.0.0.1:9080')
  const credential = token ?? env['ONCEGATE_ADMIN_TOKEN'] ?? ''
  let text: string
  let ok: boolean
  try {
    const answer = await fetch(`${admin.replace(/\/+$/, '')}${path}`, {
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
