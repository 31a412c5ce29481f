// The driver's errors: what they may tell, and which of them a new connection may mend.
import { DatabaseError } from 'pg'

/** The server is no primary, or is going: its connections lead nowhere, and another may lead to its successor. */
const SERVER_GOES = ['25006', '57P01', '57P02', '57P03', '57P05']
/** Nothing that time alone would mend: who may not do it, or where there is no such place. */
const WRONG_SETTINGS = ['28000', '28P01', '3D000', '3F000', '42501']

/**
 * Without what a statement was given: the driver's errors carry details with owners, digests and answers, which no log may
 * show. Messages of the server name tables and columns only, since every statement is prepared.
 */
export function withoutArguments(error: unknown): Error {
  if (error instanceof DatabaseError) return new Error(`${error.message} (SQLSTATE ${error.code})`)
  if (!(error instanceof Error)) return new Error('the PostgreSQL driver failed')
  // Where a name has several addresses the message is empty, and the reasons are inside.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  return new Error(error.message || (first instanceof Error ? first.message : error.name))
}

export function serverGoes(error: unknown): boolean {
  return error instanceof DatabaseError && SERVER_GOES.includes(error.code ?? '')
}

export function settingsAreWrong(error: unknown): boolean {
  return error instanceof DatabaseError && WRONG_SETTINGS.includes(error.code ?? '')
}
