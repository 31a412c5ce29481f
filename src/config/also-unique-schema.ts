// `alsoUnique`: further names of a fact, of which each belongs to one fact alone.
import { z } from 'zod'
import * as value from './schema-values.ts'

export const alsoUnique = z
  .record(
    z.string().regex(/^\p{L}[\p{L}\p{N}_.-]*$/u, 'expected a name of letters, digits, and _ . -'),
    z.union([
      value.selector,
      z.strictObject({ all: z.array(value.selector).min(2).describe('Selectors that count together; present where all of them are') }),
    ]),
  )
  .describe(
    'Further names of the fact, by what they are called: a selector, or { all: [selectors] }. No part of the fingerprint, and they may be missing; another fact of the owner that brings one of them gets 422. Default: none',
  )

export type AlsoUniqueSetting = z.output<typeof alsoUnique>
