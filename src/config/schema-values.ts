// The small values of the configuration: durations, sizes, selectors, addresses, patterns, each with its check.
import { z } from 'zod'
import { ADDRESS_EXPECTED, isTrustedBlock, parseAddress } from './address.ts'
import { readPattern } from './path-patterns.ts'
import { parsePathTemplate } from './path-template.ts'
import { checkPattern } from './safe-pattern.ts'
import { SelectorError, UNREADABLE_HEADERS, parseSelector, type Selector } from './selectors.ts'
import { checkStoreUrl } from './store-url.ts'
import { DURATION_PATTERN, SIZE_PATTERN, parseDuration, parseSize } from './units.ts'

const DURATION_EXPECTED = 'expected a duration: a number and one of ms, s, m, h, d (like 30s)'
const SIZE_EXPECTED = 'expected a size: a number and one of B, KiB, MiB, GiB, kB, MB, GB (like 1MiB)'

/** Timers count in 32 bits: a longer one would fire at once. */
const LONGEST_TIMER = '24d'
const LONGEST = '36500d'

/** Milliseconds of a duration within bounds. */
export function duration(description: string, bounds: { least?: string; most?: string } = {}) {
  const { least = '1ms', most = LONGEST_TIMER } = bounds
  return z
    .string({ error: DURATION_EXPECTED })
    .regex(DURATION_PATTERN, DURATION_EXPECTED)
    .refine(
      (text) => !DURATION_PATTERN.test(text) || parseDuration(text) >= parseDuration(least),
      `expected a duration of at least ${least}`,
    )
    .refine((text) => !DURATION_PATTERN.test(text) || parseDuration(text) <= parseDuration(most), `expected a duration of at most ${most}`)
    .transform(parseDuration)
    .describe(description)
}

/** A duration that no timer measures. */
export function age(description: string) {
  return duration(description, { most: LONGEST })
}

/** Bytes of a size that a buffer can hold. */
export function size(description: string) {
  return z
    .string({ error: SIZE_EXPECTED })
    .regex(SIZE_PATTERN, SIZE_EXPECTED)
    .refine((text) => !SIZE_PATTERN.test(text) || parseSize(text) <= 2 ** 31, 'expected a size of at most 2GiB')
    .transform(parseSize)
    .describe(description)
}

/** Reports what `check` says about a text, hint and all. */
export function checked(check: (text: string) => { message: string; hint?: string | undefined } | undefined, expected: string) {
  return z.string({ error: `expected ${expected}` }).superRefine((text, context) => {
    const wrong = check(text)
    if (wrong !== undefined) context.addIssue({ code: 'custom', message: wrong.message, params: { hint: wrong.hint } })
  })
}

function selectorThat(accepts: (selector: Selector) => { message: string; hint?: string } | undefined) {
  return checked((text) => faultOf(() => accepts(parseSelector(text))), 'a selector')
}

function faultOf<T>(read: () => T): T | { message: string; hint: string | undefined } {
  try {
    return read()
  } catch (error) {
    if (error instanceof SelectorError) return { message: error.message, hint: error.hint }
    throw error
  }
}

export const selector = selectorThat(() => undefined).describe(
  'Where a value comes from: body, body.<JSONPath without $>, header.<name>, query, query.<name>, path.<param>, cookie.<name>, jwt.<claim>, method, url.path, host, ip',
)

export const ownerSelector = selectorThat(({ source }) =>
  ['header', 'cookie', 'jwt', 'ip'].includes(source)
    ? undefined
    : {
        message: 'an owner is read from header.<name>, cookie.<name>, jwt.<claim> or ip',
        hint: 'anybody could write another owner elsewhere; make it a part of the fingerprint instead',
      },
).describe('Whose record it is: header.<name>, cookie.<name>, jwt.<claim> (of a verified token) or ip')

export const ignoredSelector = selectorThat((ignored) =>
  (ignored.source === 'body' && ignored.path !== undefined) || (ignored.source === 'query' && ignored.name !== undefined)
    ? undefined
    : { message: 'digestIgnore takes only body.<path> and query.<name>', hint: 'to leave out other things, name what counts in digest' },
).describe('A field that may differ: body.<path> or query.<name>')

export const lineOfText = z
  .string({ error: 'expected a text (in YAML, [DONE] needs quotes to be one)' })
  .min(1, 'expected a text that is not empty')
  .regex(/^[^\r\n]*$/, 'expected a text without a line break: it is looked for line by line')

export const pattern = checked(checkPattern, 'a regular expression')

export const pathPattern = checked((text) => {
  const reading = readPattern(text)
  return 'error' in reading
    ? { message: `not a route pattern: ${reading.error}`, hint: 'like /tasks/:taskId/sections or /files/*' }
    : undefined
}, 'a route pattern like /tasks/:taskId or /files/*')

export const pathTemplate = checked(
  (text) =>
    faultOf(() => {
      parsePathTemplate(text)
      return undefined
    }),
  'a path like /tasks/{path.taskId}/runs/{fingerprint}',
)

export const storeUrl = checked(checkStoreUrl, 'a store like lmdb:./data or redis://host').transform((text) =>
  text === 'memory' ? 'memory:' : text,
)

export function address(description: string) {
  return z
    .union([z.string(), z.int().min(0).max(65_535)])
    .transform((text, context) => {
      const parsed = parseAddress(text)
      if (parsed !== undefined) return parsed
      context.addIssue({ code: 'custom', message: ADDRESS_EXPECTED })
      return z.NEVER
    })
    .describe(description)
}

const URL_EXPECTED = 'expected http://host[:port] or https://host[:port], without a path or a user'

export const upstreamUrl = z
  .string({ error: URL_EXPECTED })
  .regex(/^https?:\/\/[^/?#\s@]+\/?$/, URL_EXPECTED)
  .refine((text) => URL.canParse(text), URL_EXPECTED)

export const jwksUrl = z
  .string({ error: 'expected a URL like https://issuer.example/.well-known/jwks.json' })
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    'expected a URL like https://issuer.example/.well-known/jwks.json',
  )

export const headerName = checked((text) => {
  if (!/^[!#$%&'+.^_`|~0-9A-Za-z-]+$/.test(text)) return { message: 'expected the name of a header' }
  return UNREADABLE_HEADERS.has(text.toLowerCase())
    ? { message: `${text} belongs to one connection, or to the gateway: it is never stored` }
    : undefined
}, 'the name of a header').transform((text) => text.toLowerCase())

export const origin = z
  .string({ error: 'expected an origin like https://app.example' })
  .regex(
    /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s@*]+$/,
    'expected an origin like https://app.example: scheme and host, no path, no closing slash, no *',
  )

export const trustedBlock = z
  .string({ error: 'expected an address or a block like 10.0.0.0/8' })
  .refine(isTrustedBlock, 'expected an address, a block like 10.0.0.0/8, or loopback, linklocal, uniquelocal')
