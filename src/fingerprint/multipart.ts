// `multipart/form-data` as an object: texts by their value, files by type, size and SHA-256. Boundary, file names and headers of
// parts do not count.
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { FormFields } from './form.ts'
import { Members, type JsonObject, type JsonValue } from './json-value.ts'

export type Multipart = { readonly kind: 'form'; readonly fields: JsonObject } | { readonly kind: 'invalid'; readonly reason: string }

/** More than people fill in, and few enough to be no burden. */
export const MAX_PARTS = 1000
const LIMITS = { parts: MAX_PARTS, headerPairs: 100, headerSize: 16_384 }

interface Part {
  readonly name: string
  readonly isFile: boolean
  readonly type: string
  readonly chunks: Buffer[]
}

export function readMultipart(body: Buffer, contentType: string): Promise<Multipart> {
  return new Promise((resolve) => {
    const invalid = (reason: string): void => resolve({ kind: 'invalid', reason })
    const parts: Part[] = []
    const parser = open(contentType)
    if (typeof parser === 'string') return invalid(parser)
    parser
      .on('file', (name: string | undefined, stream: Readable, fileName: string | undefined, _encoding: string, type: string) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => invalid('a part breaks off'))
        if (name === undefined) return invalid('a part has no name')
        parts.push({ name, isFile: fileName !== undefined, type, chunks })
      })
      .on('partsLimit', () => invalid(`it has more than ${MAX_PARTS} parts`))
      .on('error', (error: unknown) => invalid(error instanceof Error ? error.message : 'it cannot be read'))
      .on('finish', () => resolve({ kind: 'form', fields: fieldsOf(parts) }))
    parser.end(body)
  })
}

/** Every part is read as a stream of bytes: the library would decode texts, and lose what is not UTF-8. */
function open(contentType: string): InstanceType<typeof Busboy> | string {
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS, isPartAFile: () => true })
  } catch (error) {
    return error instanceof Error ? error.message : 'its type cannot be read'
  }
}

function fieldsOf(parts: readonly Part[]): JsonObject {
  const fields = new FormFields()
  for (const part of parts) fields.add(part.name, valueOf(part))
  return fields.object
}

function valueOf({ isFile, type, chunks }: Part): JsonValue {
  const bytes = Buffer.concat(chunks)
  if (!isFile && isUtf8(bytes)) return bytes.toString()
  const file: JsonObject = new Members()
  file['type'] = type
  file['size'] = bytes.length
  file['sha256'] = createHash('sha256').update(bytes).digest('hex')
  return file
}
