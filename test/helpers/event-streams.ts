// Event streams for property tests: right ones, odd ones, and ways to cut them into pieces.
import fc from 'fast-check'

const lineEnd = fc.constantFrom('\n', '\n', '\r', '\r\n')

const value = fc.oneof(
  fc.constantFrom('', ' ', ':', '[DONE]', 'stop', 'a', ' a', '{"text":"天气 é"}', '\0', 'x\0y', '\ufeff'),
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll(/[\r\n]/g, '')),
)

const line = fc.oneof(
  { weight: 4, arbitrary: value.map((text) => `data: ${text}`) },
  { weight: 2, arbitrary: value.map((text) => `id: ${text}`) },
  fc
    .tuple(fc.constantFrom('data:', 'id:', 'event:', 'event: ', ':', 'retry: ', 'dat', 'datax:', 'idle:', '\ufeffdata:', ' data:'), value)
    .map((parts) => parts.join('')),
  fc.constantFrom('data', 'id', 'event', 'event: stop', ': hb', 'd', 'i'),
  { weight: 4, arbitrary: fc.constant('') },
)

const start = fc.constantFrom(Buffer.alloc(0), Buffer.alloc(0), Buffer.from('\ufeff'), Buffer.from([0xef]), Buffer.from([0xef, 0xbb]))

/** Of any lines, with any line ends, and an end anywhere. */
export const eventStream: fc.Arbitrary<Buffer> = fc
  .tuple(start, fc.array(fc.tuple(line, lineEnd), { maxLength: 30 }), fc.nat({ max: 3 }))
  .map(([first, lines, cut]) => {
    const whole = Buffer.concat([first, Buffer.from(lines.map((parts) => parts.join('')).join(''))])
    return whole.subarray(0, Math.max(0, whole.length - cut))
  })

/** A stream and the places to cut it at. */
export const cutStream: fc.Arbitrary<readonly Buffer[]> = fc
  .tuple(eventStream, fc.array(fc.nat(), { maxLength: 12 }), fc.boolean())
  .map(([stream, cuts, everywhere]) => (everywhere ? bytewise(stream) : cutAt(stream, cuts)))

export function bytewise(stream: Buffer): Buffer[] {
  return Array.from(stream, (byte) => Buffer.from([byte]))
}

function cutAt(stream: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map((cut) => cut % (stream.length + 1)), stream.length].toSorted((a, b) => a - b)
  return places.map((place, n) => stream.subarray(places[n - 1] ?? 0, place))
}
