// The steps of `apply`, as the file writes them: a word, or a mapping with one key.
import { z } from 'zod'
import { compileJsonPath } from './selectors.ts'
import * as value from './schema-values.ts'

export const STEP_WORDS = [
  'trim',
  'lower',
  'upper',
  'nfc',
  'nfkc',
  'collapseSpace',
  'integer',
  'number',
  'string',
  'sha256',
  'url',
  'email',
  'sort',
  'set',
] as const

export const PRECISIONS = ['day', 'hour', 'minute', 'second', 'millisecond'] as const
export const DATE_LOCALES = ['en', 'en-GB', 'zh', 'de', 'fr', 'ja', 'es', 'pt', 'it', 'nl', 'ru', 'uk', 'sv', 'vi'] as const

const constant = z.union([z.string(), z.number(), z.boolean()])

const memberPath = value.checked((text) => {
  try {
    compileJsonPath(memberJsonPath(text))
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { message: `"${text}" is not a path to a member: ${message}`, hint: "like sku, price.amount, items[*].sku or ['a.b']" }
  }
}, 'a path to a member like sku')

/** From what `pick` and `omit` write to a JSONPath with its `$`. */
export function memberJsonPath(text: string): string {
  return text.startsWith('[') || text.startsWith('.') ? `$${text}` : `$.${text}`
}

const zone = value.checked((text) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return undefined
  } catch {
    return { message: `unknown time zone "${text}"`, hint: 'a name of the IANA list, like Asia/Shanghai, Europe/Berlin or UTC' }
  }
}, 'a time zone like Asia/Shanghai')

const date = z.strictObject({
  zone: zone.describe('The zone in which people mean their times, like Asia/Shanghai'),
  precision: z.enum(PRECISIONS).optional().describe('What is finer does not count. Default: as exact as it was written'),
  locales: z
    .array(z.enum(DATE_LOCALES))
    .min(1)
    .default(['en', 'zh'])
    .describe('In which languages dates are read, the first that fits wins; en reads 5/6 as May 6, en-GB as 5 June. Default: en, zh'),
})

const mapping = z
  .strictObject({
    number: z
      .strictObject({ round: z.int().min(0).max(20).describe('Decimal places that count') })
      .optional()
      .describe('A number, or a text that is one, by its rounded value'),
    pick: z.array(memberPath).min(1).optional().describe('Keeps only these members of an object'),
    omit: z.array(memberPath).min(1).optional().describe('Leaves these members out'),
    map: z.record(z.string(), constant).optional().describe('Replaces a text by what stands for it here; others stay'),
    match: z
      .array(
        z.strictObject({
          regex: value.pattern.describe('Found anywhere in the text (RE2 syntax)'),
          to: constant.describe('What then stands for the whole text'),
        }),
      )
      .min(1)
      .optional()
      .describe('Replaces a text by the first entry whose pattern is found in it; others stay'),
    regex: value.pattern.optional().describe('Takes what the first group finds; nothing found: missing'),
    absentIf: value.pattern.optional().describe('A text in which this is found counts as not sent'),
    date: date.optional().describe('Reads a date or time in many spellings; what is none is missing'),
    window: value
      .duration('Times within one window of this length are the same, and across its edge those less than half of it apart')
      .optional(),
    plugin: z
      .string()
      .min(1)
      .optional()
      .describe('A module of your own (ES module, from the folder of this file): its default export turns one value into another'),
  })
  .superRefine((step, context) => {
    // A key that nobody knows is mistake enough.
    if (context.issues.length > 0) return
    if (Object.values(step).filter((setting) => setting !== undefined).length === 1) return
    context.addIssue({
      code: 'custom',
      message: 'a step is a word or a mapping with exactly one key',
      params: { hint: 'write each step as its own entry of the list' },
    })
  })

export const step = z.union([z.enum(STEP_WORDS), mapping])

export type StepSetting = z.output<typeof step>
export type DateSetting = z.output<typeof date>
