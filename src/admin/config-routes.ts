// /config: which version of the configuration is applied, what was wrong with a later one, and what it says. POST /reload: read it anew.
import type { FastifyInstance } from 'fastify'
import type { AppliedVersion, Reloaded, ReloadFailure } from '../config/reloader.ts'
import { problem } from '../model/problems.ts'
import { sendProblem } from './send-problem.ts'

export interface ConfigRoutes {
  readonly applied: () => AppliedVersion
  readonly failure: () => ReloadFailure | undefined
  /** The configuration as it may be shown. */
  readonly shown: () => unknown
  /** Other versions under which requests are looked for, and milliseconds until new ones are claimed under the applied one. */
  readonly versions: () => { readonly others: number; readonly claimedAnewInMs: number }
  readonly reload: (trigger: string) => Promise<Reloaded>
}

export function addConfigRoutes(app: FastifyInstance, config: ConfigRoutes): void {
  app.get('/config', async (_request, reply) => {
    const { others, claimedAnewInMs } = config.versions()
    return reply.header('Cache-Control', 'no-store').send({
      ...versionDocument(config),
      other_versions: others,
      claims_under_this_version_in_seconds: Math.ceil(claimedAnewInMs / 1000),
      config: config.shown(),
    })
  })
  app.post('/reload', async (_request, reply) => {
    const result = await config.reload('POST /reload')
    if (result.kind !== 'refused') return { result: result.kind, ...versionDocument(config) }
    const detail = 'The configuration was not reloaded; the version before it stays.'
    return sendProblem(
      reply,
      problem('config-invalid', detail, { members: { version: result.applied.version, ...mistakes(result.failure) } }),
    )
  })
}

/** For whoever has no token: of what is wrong, only that something is. */
export function versionSummary({ applied, failure }: Pick<ConfigRoutes, 'applied' | 'failure'>): object {
  const [{ version, appliedAt }, failed] = [applied(), failure()]
  const error = failed === undefined ? null : { failed_at: failed.failedAt.toISOString(), mistakes: failed.mistakes.length }
  return { version, applied_at: appliedAt.toISOString(), error }
}

function versionDocument({ applied, failure }: Pick<ConfigRoutes, 'applied' | 'failure'>): object {
  const [{ version, appliedAt }, failed] = [applied(), failure()]
  return {
    version,
    applied_at: appliedAt.toISOString(),
    error: failed === undefined ? null : { failed_at: failed.failedAt.toISOString(), ...mistakes(failed) },
  }
}

function mistakes(failure: ReloadFailure): { mistakes: readonly string[] } {
  return { mistakes: failure.mistakes }
}
