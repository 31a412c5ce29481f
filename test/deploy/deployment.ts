// What the files of deploy/ have in common, for the tests that compare them with each other, with the Dockerfile and with the gateway.
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import type { GatewayConfig } from '../../src/config/gateway-config.ts'
import { readRepositoryFile } from '../helpers/repository.ts'

export const { version } = JSON.parse(readRepositoryFile('package.json')) as { version: string }

export const ENVIRONMENT = {
  ONCEGATE_ADMIN_TOKEN: '0123456789abcdef',
  POSTGRES_PASSWORD: 'secret',
  STORE: 'redis://redis:6379',
}

/** YAML documents, without empty ones; a key that is there twice, or anything else that is odd, fails. */
export function documents<T>(text: string): T[] {
  return [parseAllDocuments(text, { merge: true, strict: true })].flat().flatMap((document) => {
    if (document.errors.length > 0 || document.warnings.length > 0) throw new Error([...document.errors, ...document.warnings].join('\n'))
    const read: unknown = document.toJS()
    return read === null ? [] : [read as T]
  })
}

/** As `oncegate check` reads it: fails on any mistake, and on any warning. */
export function checked(text: string): GatewayConfig {
  const { config, warnings } = loadConfig({ text, env: ENVIRONMENT })
  if (warnings.length > 0) throw new Error(JSON.stringify(warnings))
  return config
}

/** Whoever kills a gateway before this is over loses what it could still settle (see cli/start.ts). */
export function longestEndMs({ shutdownGrace, storeTimeout }: GatewayConfig): number {
  return shutdownGrace + 2 * storeTimeout + 3000
}
