// The names under which a rule in shadow keeps its records: no enforced request is ever called so.
import type { Operation } from '../model/operation.ts'
import { issueBeside, type FingerprintKeys } from './keys.ts'

/** No canonical text of a fact begins with it. */
const SHADOW = 's'

export function inShadow(operation: Operation, keys: FingerprintKeys): Operation {
  const shadowOf = (name: string): string => issueBeside(SHADOW + name, name, keys)
  return {
    ...operation,
    fingerprint: shadowOf(operation.fingerprint),
    aliases: operation.aliases?.map(shadowOf),
  }
}
