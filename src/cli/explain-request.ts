// The request that `explain` was told of, by flags like curl's or as a saved HTTP message.
import { readFileSync } from 'node:fs'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { type Told, toldRequest } from '../fingerprint/told-request.ts'
import { readHeader, readHttpMessage } from './http-message.ts'
import { UsageError } from './usage-error.ts'

export interface RequestFlags {
  readonly request?: string
  readonly header: readonly string[]
  readonly data?: string
  readonly ip: string
}

export function requestFromFlags(url: string, flags: RequestFlags): RequestParts {
  const body = flags.data === undefined ? Buffer.alloc(0) : readBody(flags.data)
  const headers = flags.header.flatMap((line) => readHeader(line))
  const method = flags.request ?? (flags.data === undefined ? 'GET' : 'POST')
  return requestFrom({ method, url, headers, body, ip: flags.ip, receivedAt: Date.now() })
}

/** From a file that holds one request as it stands on the wire. */
export function requestFromMessage(file: string, ip: string): RequestParts {
  const { method, target, headers, body } = readHttpMessage(readInput(file, 'the request'))
  if (method !== method.toUpperCase()) throw new UsageError(`"${method}" is no method: methods are written in capitals`)
  return requestFrom({ method, url: target, headers, body, ip, receivedAt: Date.now() })
}

/** Throws a UsageError for what is no request. */
export function requestFrom(told: Told): RequestParts {
  const request = toldRequest(told)
  if (typeof request === 'string') throw new UsageError(request)
  return request
}

/** Bytes of a file that a flag names; `what` it is for the error. */
export function readInput(file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** `@file`, byte for byte, or the text itself. */
export function readBody(data: string): Buffer {
  return data.startsWith('@') ? readInput(data.slice(1), 'the body') : Buffer.from(data)
}
