// `exclusive`: which facts are not executed at the same time, and what the others get meanwhile.
import { z } from 'zod'
import * as value from './schema-values.ts'

export const exclusive = z
  .strictObject({
    by: z
      .array(value.selector)
      .min(1)
      .describe('What the facts of one group have in common: selectors, all of which count, as does the owner'),
    group: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'expected a name of letters, digits, and _ . -')
      .optional()
      .describe("Name of the group, for several rules whose facts exclude each other. Default: the rule's own"),
    whenBusy: z
      .enum(['refuse', 'wait'])
      .default('refuse')
      .describe('Another fact of the group is being executed: 409 at once, or it waits (pending) for its turn, up to inFlight.maxWait'),
  })
  .describe('One execution at a time for each group of facts, over all gateways. Default: facts do not exclude each other')
