// `oncegate start`: the gateway, until SIGTERM or SIGINT.
import { fileURLToPath } from 'node:url'
import closeWithGrace from 'close-with-grace'
import { loadConfig } from '../config/load.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import { shownAddress } from '../config/shown-config.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { watchFiles } from '../config/watch.ts'
import { createLog } from '../observe/log.ts'
import { startDemoAgent } from './demo-agent.ts'

/** The rules before the demo agent. */
const DEMO_RULES = fileURLToPath(new URL('../../../config/examples/demo.yaml', import.meta.url))

export interface StartOptions {
  readonly config?: string
  readonly upstream?: string
  readonly listen?: string
  readonly admin?: string
  readonly store?: string
}

/** Resolves once the gateway listens, or with the exit code of a start that failed: 2 for a bad configuration. */
export async function start(options: StartOptions): Promise<number | undefined> {
  const log = createLog()
  const { file, overrides, demo } = await withUpstream(options)
  const load = () => loadConfig({ file, env: process.env, overrides })
  let loaded
  try {
    loaded = load()
    for (const warning of loaded.warnings) log.warn({ ...warning }, 'configuration')
  } catch (error) {
    await demo?.close()
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${formatMistakes(error.mistakes, error.text)}\n`)
    return 2
  }
  let gateway: Gateway
  try {
    gateway = await startGateway(loaded, log, { load })
  } catch (error) {
    await demo?.close()
    process.stderr.write(`oncegate could not start: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
  const { config } = loaded
  const watch = watchFiles(
    () => gateway.configFiles(),
    () => void gateway.reload('a file has changed'),
  )
  process.on('SIGHUP', () => void gateway.reload('SIGHUP'))
  log.info(
    {
      listen: gateway.url,
      admin: gateway.adminUrl,
      upstream: config.upstream.url,
      store: shownAddress(config.store),
      demo: demo !== undefined,
    },
    'listening',
  )
  // The grace is the gateway's own; this limit only catches a close that hangs.
  const delay = config.shutdownGrace + 2 * config.storeTimeout + 3000
  closeWithGrace({ delay, logger: false, skip: ['SIGHUP'] }, async ({ signal, err }) => {
    if (err !== undefined) log.error({ err }, 'fatal')
    else log.info({ signal }, 'shutting down')
    watch.close()
    await gateway.close()
    await demo?.close()
    log.flush()
  })
  return undefined
}

/** Without an upstream and a file the bundled demo agent stands in for one. */
async function withUpstream(options: StartOptions) {
  const { upstream = process.env.UPSTREAM || undefined, listen, admin, store, config: file } = options
  const overrides = { listen, admin, store, upstream, adminToken: process.env.ONCEGATE_ADMIN_TOKEN || undefined }
  if (upstream !== undefined || file !== undefined) return { file, overrides, demo: undefined }
  const demo = await startDemoAgent({ host: '127.0.0.1', port: 0 })
  return { file: DEMO_RULES, overrides: { ...overrides, upstream: demo.url }, demo }
}
