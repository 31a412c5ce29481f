// What an included file may hold: rules, and defaults for them.
import { z } from 'zod'
import { explainIssues } from './check-shape.ts'
import type { Finding } from './mistakes.ts'
import { isMapping } from './plain-values.ts'
import { configSchema } from './schema.ts'

const { defaults } = configSchema.shape

// The rules themselves are checked among all of them, over every default.
const includedSchema = z.object({ defaults, rules: z.array(z.unknown()).min(1, 'expected at least one rule') })

export function lintIncluded(root: unknown): Finding[] {
  const result = includedSchema.safeParse(root)
  const findings = result.success ? [] : explainIssues(result.error.issues, root)
  if (!isMapping(root)) return findings
  const strange = Object.keys(root).filter((key) => !Object.hasOwn(includedSchema.shape, key))
  return [
    ...findings,
    ...strange.map((key) => ({
      place: [key],
      at: 'key' as const,
      message: `"${key}" cannot be included: of an included file, rules and their defaults count`,
      hint: Object.hasOwn(configSchema.shape, key) ? 'write it in the file that includes this one' : undefined,
    })),
  ]
}
