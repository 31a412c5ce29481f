// One request as several versions of the rules name it: one operation, under the name to claim and all others to look under.
import type { Operation } from '../model/operation.ts'
import type { Rule } from './compile-rule.ts'

export interface Named {
  readonly rule: Rule
  readonly operation: Operation
}

/** What is asked of the record stays the request's own; `claimed` says under which name and for whom a new one is kept. */
export function joinNames(own: Named, claimed: Named, others: readonly Named[]): Operation {
  const named = new Map<string, Operation[]>()
  for (const { operation } of [claimed, own, ...others]) {
    for (const name of [operation.fingerprint, ...(operation.aliases ?? [])]) addVersion(named, name, operation)
  }
  const versions = [...named]
  if (versions.every(([, [, other]]) => other === undefined) && versions.length === 1 + (own.operation.aliases?.length ?? 0)) {
    return own.operation
  }
  const { fingerprint, digest, digestFields, owner } = claimed.operation
  const aliases = versions.slice(1).map(([name]) => name)
  return {
    ...own.operation,
    fingerprint,
    digest,
    digestFields,
    owner,
    keptFor: {
      name: claimed.rule.config.name,
      exclusive: claimed.rule.config.exclusive,
      tombstones: [claimed, own, ...others].some(({ rule }) => rule.config.tombstone !== undefined),
    },
    aliases: aliases.length === 0 ? undefined : aliases,
    digests: versions.map(([, operations]) => operations.map((operation) => operation.digest)),
    fieldsUnder: new Map(versions.map(([name, operations]) => [name, operations.map((operation) => operation.digestFields)])),
  }
}

/** One for each digest. */
function addVersion(named: Map<string, Operation[]>, name: string, operation: Operation): void {
  const versions = named.get(name)
  if (versions === undefined) named.set(name, [operation])
  else if (versions.every(({ digest }) => digest !== operation.digest)) versions.push(operation)
}
