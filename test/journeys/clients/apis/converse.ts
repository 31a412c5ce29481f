// A fake of Bedrock's converse: JSON, or a stream of Amazon's binary events.
import { crc32 } from 'node:zlib'
import { type Api, json, words } from '../api.ts'

export const converse: Api = {
  reply: ({ url }, text) => {
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    const metrics = { latencyMs: 1 }
    if (!url.endsWith('/converse-stream')) {
      return json({ output: { message: { role: 'assistant', content: [{ text }] } }, stopReason: 'end_turn', usage, metrics })
    }
    const frames = [
      frame('messageStart', { role: 'assistant' }),
      ...words(text).map((word) => frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: word } })),
      frame('contentBlockStop', { contentBlockIndex: 0 }),
      frame('messageStop', { stopReason: 'end_turn' }),
      frame('metadata', { usage, metrics }),
    ]
    return { type: 'application/vnd.amazon.eventstream', body: Buffer.concat(frames) }
  },
}

/** One message of application/vnd.amazon.eventstream: both lengths, their CRC, headers, payload, CRC of all. */
function frame(event: string, document: object): Buffer {
  const headers = Buffer.concat([
    header(':event-type', event),
    header(':content-type', 'application/json'),
    header(':message-type', 'event'),
  ])
  const payload = Buffer.from(JSON.stringify(document))
  const lengths = Buffer.concat([uint32(16 + headers.length + payload.length), uint32(headers.length)])
  const message = Buffer.concat([lengths, uint32(crc32(lengths)), headers, payload])
  return Buffer.concat([message, uint32(crc32(message))])
}

/** A name, and a text (type 7) of a length in two bytes. */
function header(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7, 0, value.length]), Buffer.from(value)])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
