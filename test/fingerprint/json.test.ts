import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { ExactNumber } from '../../src/fingerprint/decimal.ts'
import { parseJson } from '../../src/fingerprint/json.ts'
import { JsonError } from '../../src/fingerprint/json-value.ts'

/** Plain values, with every number as a double, to compare with JSON.parse. */
function plain(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text) || 0
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return Object.is(value, -0) ? 0 : value
  return new Map(Object.entries(value).map(([key, member]) => [key, plain(member)] as const))
}

function read(parse: (text: string) => unknown, text: string): { value: unknown } | undefined {
  try {
    return { value: plain(parse(text)) }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonError) return undefined
    throw error
  }
}

function errorOf(source: string | Buffer): JsonError {
  try {
    parseJson(source)
  } catch (error) {
    if (error instanceof JsonError) return error
    throw error
  }
  throw new Error('it was accepted')
}

t.test('reads every JSON text as JSON.parse does', async (t) => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      return isDeepStrictEqual(read(parseJson, text), read(JSON.parse, text))
    }),
    { numRuns: 2000 },
  )
  for (const space of [' ', '\t', '\n', '\r\n'])
    t.same(read(parseJson, `${space}[${space}1${space},${space}{"a"${space}:${space}2}]${space}`), { value: [1, new Map([['a', 2]])] })
})

t.test('accepts and refuses what JSON.parse accepts and refuses', async () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"b"',
    '\\',
    '\\u0041',
    '\\ud800',
    '0',
    '1',
    '-',
    '.',
    'e',
    'E5',
    '+',
    '1.5',
    '01',
    'true',
    'null',
    'nul',
    ' ',
    '\n',
    '\u0001',
    'é',
    '\u2028',
  ]
  const withoutRepeats = (text: string) => {
    try {
      parseJson(text)
    } catch (error) {
      return !(error instanceof JsonError) || error.pointer === undefined
    }
    return true
  }
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (list) => {
      const text = list.join('')
      return !withoutRepeats(text) || isDeepStrictEqual(read(parseJson, text), read(JSON.parse, text))
    }),
    { numRuns: 20_000 },
  )
})

t.test('strings of every length and with every escape are what JSON.parse says', async () => {
  const characters = fc.constantFrom('a', '"', '\\', '/', '\n', '\u0000', '\u007f', 'é', '漢', '\u{1f600}', '\ud800')
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 120 }), (value) => {
      const text = JSON.stringify({ [value]: [value] })
      return isDeepStrictEqual(read(parseJson, text), read(JSON.parse, text))
    }),
  )
})

t.test('a repeated key is refused, also when escaped differently, with its JSON pointer', async (t) => {
  t.equal(errorOf('{"a":1,"a":1}').pointer, '/a')
  t.equal(errorOf('{"a":1,"\\u0061":2}').pointer, '/a')
  t.equal(errorOf('{"x":[0,{"a/b~":1,"a/b~":2}]}').pointer, '/x/1/a~1b~0')
  t.equal(errorOf('{"a":{"b":1},"c":{"b":1,"b":1}}').pointer, '/c/b')
  t.equal(errorOf('{"__proto__":1,"__proto__":2}').pointer, '/__proto__')
})

t.test('__proto__ and constructor are keys like any other', async (t) => {
  const value = parseJson('{"__proto__":{"x":1},"constructor":2,"hasOwnProperty":3}')
  t.same(Object.keys(value as object).toSorted(), ['__proto__', 'constructor', 'hasOwnProperty'])
  t.equal(Reflect.get({}, 'x'), undefined)
  t.equal(Reflect.get(value as object, 'x'), undefined)
  t.equal('toString' in (parseJson('{}') as object), false)
})

t.test('bytes that are no UTF-8 are refused, a byte order mark is ignored', async (t) => {
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe6, 0xbc]])
    t.match(errorOf(Buffer.from([0x22, ...bytes, 0x22])).reason, /UTF-8/)
  t.equal(parseJson(Buffer.from('\ufeff"a"')), 'a')
  t.throws(() => parseJson('\ufeff\ufeff"a"'))
})

t.test('an error says where, and never what', async (t) => {
  const error = errorOf('{"secret":"s3cr3t", oops}')
  t.equal(error.position, 20)
  t.notMatch(error.message, /s3cr3t|oops/)
  t.equal(errorOf('[1').reason, 'the text ends too early')
})

t.test('hostile texts are refused or read in time that grows with their length only', async (t) => {
  const size = 1 << 20
  const texts = [
    '['.repeat(size),
    '{"a":'.repeat(size / 5),
    `"${'\\'.repeat(size)}"`,
    `"${'\\"'.repeat(size / 2)}"`,
    `"${'\\"'.repeat(size / 2)}`,
    `[${'"\\n",'.repeat(size / 5)}0]`,
    `[${'"'.repeat(size)}]`,
    '1'.repeat(size),
    `0.${'0'.repeat(size)}1`,
    `1${'0'.repeat(size)}1`,
    `1e${'9'.repeat(size)}`,
    `{${Array.from({ length: size / 12 }, (_, n) => `"k${n}":${n}`).join(',')}}`,
    `{${Array.from({ length: size / 12 }, (_, n) => `"${n * 4096}":0`).join(',')}}`,
    ' '.repeat(size),
  ]
  for (const text of texts) {
    const started = performance.now()
    try {
      parseJson(text)
    } catch (error) {
      t.type(error, JsonError)
    }
    t.ok(performance.now() - started < 2000, `${text.slice(0, 12)}…`)
  }
})

t.test('control characters are refused in keys and strings of every length', async (t) => {
  for (const length of [0, 5, 12, 13, 60]) {
    for (const control of ['\u0000', '\n', '\t', '\u001f']) {
      const text = 'x'.repeat(length) + control
      t.throws(() => parseJson(`{"${text}":1}`), JsonError)
      t.throws(() => parseJson(`["${text}"]`), JsonError)
    }
  }
})

t.test('-0 is read as 0', async (t) => {
  for (const text of ['-0', '-0.0', '-0e1', '-0.0000000000000000000']) t.ok(Object.is(parseJson(text), 0), text)
})

t.test('512 levels are read, one more is refused', async (t) => {
  t.ok(parseJson('['.repeat(512) + ']'.repeat(512)))
  t.match(errorOf('['.repeat(513) + ']'.repeat(513)).reason, /deeper/)
})
