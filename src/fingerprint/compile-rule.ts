// A rule of the file, compiled: everything that need not be found out again for each request.
import type { RuleConfig } from '../config/gateway-config.ts'
import { outcomeTable, type OutcomeTable } from '../model/outcome.ts'
import { compileAlsoUnique, type CompiledFurtherName } from './also-unique.ts'
import { derivationOf } from './derivation.ts'
import { compileDigest, type CompiledDigest } from './digest.ts'
import { compileExclusive, type CompiledExclusive } from './exclusive.ts'
import { compileInquiryPath, type CompiledInquiryPath } from './inquiry-path.ts'
import { KEY_PART, compileParts, type CompiledPart } from './parts.ts'
import { compileSelector, readsBody, readsClaims, type CompiledSelector } from './select.ts'
import type { StepTools } from './steps/tools.ts'
import { compileConditions, type Condition } from './conditions.ts'

export interface Rule {
  readonly config: RuleConfig
  /** See `derivationOf`. */
  readonly derivation: string
  /** Whether the body must be at hand before the rule can identify a request. */
  readonly readsBody: boolean
  /** Whether the bearer token must be verified before. */
  readonly readsClaims: boolean
  readonly outcome: OutcomeTable
  /** Where a client without a key says how often it has tried. */
  readonly retryEvidence: CompiledSelector | undefined
  /** What a request must say besides for the rule to guard it; undefined: nothing. */
  readonly where: readonly Condition[] | undefined
  readonly owner: 'none' | readonly CompiledSelector[]
  /** Sorted by name. */
  readonly parts: readonly CompiledPart[]
  /** Undefined: none. */
  readonly alsoUnique: readonly CompiledFurtherName[] | undefined
  /** Undefined: its facts exclude none. */
  readonly exclusive: CompiledExclusive | undefined
  /** True where the client's key is all that tells two requests apart: without it there is no fact to guard. */
  readonly restsOnKey: boolean
  /** Where the upstream is asked what became of an execution; undefined where it is not. */
  readonly inquiryPath: CompiledInquiryPath | undefined
  /** Undefined: nothing is compared. */
  readonly digest: CompiledDigest | undefined
}

/** `tools`: see `loadStepTools`. Throws a SelectorError for what the configuration's own checks would have refused. */
export function compileRule(config: RuleConfig, tools?: StepTools): Rule {
  const parts = compileParts(config.fingerprint, tools)
  const hasKey = parts.some(({ name }) => name === KEY_PART)
  const owner = config.owner === 'none' ? 'none' : config.owner.map(compileSelector)
  const digest = compileDigest(config.digest ?? (hasKey ? ['query', 'body'] : []), config.digestIgnore)
  const retryEvidence = config.retryEvidence === undefined ? undefined : compileSelector(config.retryEvidence)
  const inquiryPath = typeof config.onUnknown === 'object' ? compileInquiryPath(config.onUnknown.ask.path) : undefined
  const exclusive = config.exclusive && compileExclusive(config.exclusive, config.name)
  const alsoUnique = compileAlsoUnique(config.alsoUnique)
  const selectors = [
    ...(retryEvidence === undefined ? [] : [retryEvidence]),
    ...parts.flatMap((part) => part.selectors),
    ...(owner === 'none' ? [] : owner),
    ...(digest?.selectors ?? []),
    ...(inquiryPath?.selectors ?? []),
    ...(exclusive?.by ?? []),
    ...(alsoUnique ?? []).flatMap((part) => part.selectors),
  ]
  return {
    config,
    derivation: derivationOf(config, tools),
    readsBody: selectors.some(readsBody),
    readsClaims: selectors.some(readsClaims),
    where: config.match.where && compileConditions(config.match.where),
    retryEvidence,
    outcome: outcomeTable(config.outcome),
    owner,
    parts,
    exclusive,
    alsoUnique,
    inquiryPath,
    restsOnKey: hasKey && parts.every(({ name, selectors: from }) => name === KEY_PART || from.length === 0),
    digest,
  }
}
