// Takes up a changed configuration, whole or not at all, and knows which version is applied and what was wrong with the last one.
import type { GatewayConfig } from './gateway-config.ts'
import type { LoadedConfig } from './load.ts'
import { ConfigError, formatMistakes } from './mistakes.ts'
import { ownFiles } from './read-files.ts'
import { needsRestart } from './restart-keys.ts'

export interface AppliedVersion {
  readonly version: string
  readonly appliedAt: Date
}

export interface ReloadFailure {
  readonly failedAt: Date
  /** One mistake each, with file, line and column where there are any. */
  readonly mistakes: readonly string[]
}

export type Reloaded =
  | { readonly kind: 'applied' | 'unchanged'; readonly applied: AppliedVersion }
  | { readonly kind: 'refused'; readonly applied: AppliedVersion; readonly failure: ReloadFailure }

export interface ReloadLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

export interface ReloaderOptions {
  readonly load: () => LoadedConfig
  /** Rejects where the configuration cannot be taken up, having changed nothing. */
  readonly apply: (config: GatewayConfig) => Promise<void>
  readonly onReload: (result: Reloaded) => void
  readonly log: ReloadLog
}

export class Reloader {
  readonly #options: ReloaderOptions
  #running: GatewayConfig
  #applied: AppliedVersion
  #failure: ReloadFailure | undefined
  #files: readonly string[]
  #variables: ReadonlyMap<string, string>
  #last: Promise<unknown> = Promise.resolve()

  constructor(first: Pick<LoadedConfig, 'config' | 'version' | 'files' | 'variables'>, options: ReloaderOptions) {
    this.#options = options
    this.#running = first.config
    this.#applied = { version: first.version, appliedAt: new Date() }
    this.#files = first.files
    this.#variables = first.variables
  }

  get config(): GatewayConfig {
    return this.#running
  }

  /** What the environment gave for the variables in it. */
  get variables(): ReadonlyMap<string, string> {
    return this.#variables
  }

  get applied(): AppliedVersion {
    return this.#applied
  }

  /** What was wrong with the files as they were read last; undefined where they are what is applied. */
  get failure(): ReloadFailure | undefined {
    return this.#failure
  }

  /** Those that the configuration was read from last, applied or not. */
  get files(): readonly string[] {
    return this.#files
  }

  /** One after another. Never rejects. `trigger` is what the log says of why. */
  reload(trigger: string): Promise<Reloaded> {
    const result = this.#last.then(() => this.#reload(trigger))
    this.#last = result
    return result
  }

  async #reload(trigger: string): Promise<Reloaded> {
    const result = await this.#tryToApply(trigger)
    this.#failure = result.kind === 'refused' ? result.failure : undefined
    this.#options.onReload(result)
    return result
  }

  async #tryToApply(trigger: string): Promise<Reloaded> {
    try {
      const loaded = this.#options.load()
      this.#files = loaded.files
      if (loaded.version === this.#applied.version) {
        this.#options.log.info({ trigger, version: loaded.version }, 'the configuration is what is applied already')
        return { kind: 'unchanged', applied: this.#applied }
      }
      const fixed = needsRestart(this.#running, loaded.config)
      if (fixed.length > 0) return this.#refuse(trigger, [`a restart is needed for: ${fixed.join(', ')}`])
      await this.#options.apply(loaded.config)
      for (const warning of loaded.warnings) this.#options.log.warn({ ...warning }, 'configuration')
      this.#running = loaded.config
      this.#variables = loaded.variables
      this.#applied = { version: loaded.version, appliedAt: new Date() }
      this.#options.log.info({ trigger, version: loaded.version }, 'the configuration was reloaded')
      return { kind: 'applied', applied: this.#applied }
    } catch (error) {
      if (!(error instanceof ConfigError)) return this.#refuse(trigger, [error instanceof Error ? error.message : String(error)])
      if (typeof error.text !== 'string') this.#files = [...new Set([...ownFiles(error.text), ...this.#files])]
      return this.#refuse(
        trigger,
        error.mistakes.map((mistake) => formatMistakes([mistake])),
      )
    }
  }

  #refuse(trigger: string, mistakes: readonly string[]): Reloaded {
    const { version } = this.#applied
    this.#options.log.error({ trigger, mistakes, version }, 'the configuration was not reloaded: the version before it stays')
    return { kind: 'refused', applied: this.#applied, failure: { failedAt: new Date(), mistakes } }
  }
}
