// What of a request must be read ahead, since its reading takes turns of the event loop: the parts of a multipart body.
import { headerValue } from '../model/headers.ts'
import { readMultipart } from './multipart.ts'
import { RequestContext } from './request-context.ts'
import type { RequestParts } from './request-parts.ts'

/** The request, ready for rules that read fields of the body. */
export function withFields(request: RequestParts): RequestParts | Promise<RequestParts> {
  const type = headerValue(request.headers, 'content-type')
  if (type === undefined || request.body.length === 0 || !/multipart/i.test(type)) return request
  if (new RequestContext(request, {}).kind !== 'multipart') return request
  return readMultipart(request.body, type).then((multipart) => ({ ...request, multipart }))
}
