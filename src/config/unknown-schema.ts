// What is done about outcomes that nobody knows: asking the upstream, and no longer executing where they pile up.
import { z } from 'zod'
import { statusPattern } from './status-schema.ts'
import * as value from './schema-values.ts'

const ask = z
  .strictObject({
    method: z.enum(['GET', 'POST']).default('GET').describe('Method of the question; it has no body. Default: GET'),
    path: value.pathTemplate.describe(
      'Path and query of the question. Variables, percent-encoded: {fingerprint}, {execution}, {attempt}, {key}, and any selector of one value, like {path.taskId}',
    ),
    executed: z.array(statusPattern).min(1).describe('Statuses that say: it happened. The answer becomes the stored result'),
    notExecuted: z
      .array(statusPattern)
      .default([])
      .describe('Statuses that say: it has not happened, and that execution never will. A further attempt is executed. Default: none'),
    timeout: value.duration('How long the answer may take').prefault('5s'),
    backoff: value.duration('Pause after an unclear answer; doubles with each, up to 64 times').prefault('1s'),
  })
  .describe(
    'The upstream is asked what became of it, once for all who want to know. Any status that is not named is unclear: 409, and it is asked again later',
  )

export const onUnknown = z
  .union([z.enum(['refuse', 'retry']), z.strictObject({ ask })])
  .describe('A duplicate of an unknown outcome: 409, executes again, or { ask: … } the upstream. Default: refuse')

export const breaker = z
  .strictObject({
    unknown: z.int().min(1).describe('So many unknown outcomes …'),
    within: value.duration('… within this time, counted in each process, and the rule executes nothing more').prefault('1m'),
    open: value.duration('For so long; then one execution is tried, which closes it when its outcome is known').prefault('30s'),
  })
  .describe('Stops executing where outcomes turn unknown: 503, while results are replayed still. Default: never')

export type AskSetting = z.output<typeof ask>
export type BreakerSetting = z.output<typeof breaker>
