// What a fingerprint may be made from: the request as received, without any server's types.
import type { JsonValue } from './json-value.ts'
import type { Multipart } from './multipart.ts'
import type { HeaderList } from '../model/stored-response.ts'

export interface RequestParts {
  readonly method: string
  /** The path of the request target as it came, still percent-encoded, without the query. */
  readonly path: string
  /** What follows the first `?`, undecoded; undefined where there is no `?`. */
  readonly query: string | undefined
  /** Header lines as they came, without hop-by-hop ones and those that `Connection` names (RFC 9110 7.6.1). */
  readonly headers: HeaderList
  readonly host: string
  /** The client's address, behind trusted proxies the one they name. */
  readonly ip: string
  readonly body: Buffer
  /** Of a multipart body, where a rule reads fields: see `withFields`. */
  readonly multipart?: Multipart
  /** Of the verified bearer token; undefined without one, or where no rule asks. */
  readonly claims?: JsonValue
  /** Milliseconds since 1970 at which the request arrived: what `tomorrow` is read against. */
  readonly receivedAt: number
}
