// The JSON Schema that editors check the file with, made from the schema that the gateway checks it with.
import { z } from 'zod'
import { configSchema } from './schema.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export function configJsonSchema(): JsonSchema {
  return { ...z.toJSONSchema(configSchema, { target: 'draft-7', io: 'input' }), title: 'oncegate configuration' }
}

/** The text of `config/oncegate.schema.json`. */
export function configJsonSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`
}
