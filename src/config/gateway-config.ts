// The configuration as the rest of the gateway reads it: every default filled in, frozen.
import type { Address } from './address.ts'
import type { OutcomePatterns } from '../model/outcome.ts'
import type { ErrorDialect } from '../model/problems.ts'
import type { AlsoUniqueSetting } from './also-unique-schema.ts'
import type { PartSetting, UpstreamSetting } from './schema.ts'
import type { AskSetting, BreakerSetting } from './unknown-schema.ts'

/** Durations are milliseconds, sizes bytes. The names are those of the file. */
export interface RuleConfig {
  readonly name: string
  /** No paths: every path. */
  readonly match: {
    readonly methods: readonly string[]
    readonly paths: readonly string[]
    /** By selector, the values of which one must be there. */
    readonly where?: Readonly<Record<string, readonly (string | number | boolean)[]>>
  }
  readonly upstream: UpstreamSetting
  /** `none`, or selectors of which the first present wins. */
  readonly owner: 'none' | readonly string[]
  readonly fingerprint: Readonly<Record<string, PartSetting>>
  /** `rule`: method and path are left out of it. */
  readonly scope: 'operation' | 'rule'
  /** Undefined: the default, query and body when a part is the key. */
  readonly digest: readonly string[] | undefined
  readonly digestIgnore: readonly string[]
  readonly retryEvidence?: string
  readonly inFlight: {
    readonly answer: 'refuse' | 'wait' | 'attach'
    readonly status: number
    readonly retryAfter: 'auto' | number
    readonly maxWait: number
  }
  readonly errors: ErrorDialect
  /** `jsonrpc`: replays are addressed to whoever asks. */
  readonly protocol: 'http' | 'jsonrpc'
  readonly outcome: Partial<OutcomePatterns>
  readonly onFailed: 'retry' | 'replay'
  readonly onUnknown: 'refuse' | 'retry' | { readonly ask: AskConfig }
  readonly breaker?: BreakerConfig
  readonly maxInFlightPerOwner?: number
  readonly exclusive?: ExclusiveConfig
  readonly alsoUnique?: Readonly<AlsoUniqueSetting>
  readonly onMissing: 'refuse' | 'pass' | 'skip'
  readonly onStoreError: 'refuse' | 'pass'
  readonly onDisconnect: 'continue' | 'abort'
  readonly async: boolean
  /** Undefined: a clean end is enough. */
  /** Any of these. */
  readonly completeOn?: readonly string[]
  readonly streamIds: boolean
  readonly streamError: 'reset' | 'event'
  /** Undefined: none. */
  readonly heartbeat?: number
  /** Infinity: for ever. */
  readonly ttl: number
  /** Undefined: none. */
  readonly tombstone?: number
  readonly lease: number
  readonly timeout: number
  readonly maxBody: number
  readonly maxResult: number
  readonly replayHeaders: { readonly add: readonly string[]; readonly drop: readonly string[] }
  readonly mode: 'enforce' | 'shadow' | 'off'
}

export type AskConfig = Readonly<AskSetting>
export type BreakerConfig = Readonly<BreakerSetting>

export interface ExclusiveConfig {
  readonly by: readonly string[]
  /** What facts of several rules have in common; undefined: the group is the rule's own. */
  readonly group?: string | undefined
  readonly whenBusy: 'refuse' | 'wait'
}

/** Exactly one of `jwks`, `publicKeyFile` and `secret` is there. */
export interface JwtConfig {
  readonly jwks?: string | undefined
  readonly publicKeyFile?: string | undefined
  readonly secret?: string | undefined
  readonly issuer?: readonly string[] | undefined
  readonly audience?: readonly string[] | undefined
}

export type { Address } from './address.ts'

export interface GatewayConfig {
  readonly listen: Address
  readonly admin: Address
  /** Empty: the admin port asks for none. */
  readonly adminToken: string
  readonly upstream: UpstreamSetting
  readonly store: string
  readonly storeTimeout: number
  readonly replicasAck: number
  /** Start refuses where it would warn. */
  readonly strict: boolean
  /** Where results wait for a store on a server that cannot take them in time; undefined: in memory. */
  readonly spool: { readonly folder: string; readonly maxBytes: number } | undefined
  readonly secret: string
  readonly statusPath: string
  readonly cors: { readonly origins: readonly string[] } | undefined
  readonly trustProxy: readonly string[] | undefined
  readonly jwt?: JwtConfig
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly retryStorm: { readonly uses: number; readonly within: number }
  readonly shutdownGrace: number
  /** Milliseconds within which all gateways on the store take up a changed configuration. */
  readonly rollout: number
  readonly rules: readonly RuleConfig[]
  /** The rules as they were, the latest first. */
  readonly previous: readonly (readonly RuleConfig[])[]
}
