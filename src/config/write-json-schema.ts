// Writes config/oncegate.schema.json; run by `npm run schema`.
import { writeFileSync } from 'node:fs'
import { configJsonSchemaText } from './json-schema.ts'

writeFileSync(new URL('../../../config/oncegate.schema.json', import.meta.url), configJsonSchemaText())
