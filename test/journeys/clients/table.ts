// The table: every client, every scenario, and what comes of one with the other.
import { within } from '../../helpers/until.ts'
import { a2a } from './a2a.ts'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { textOf } from './api.ts'
import { bedrock } from './bedrock.ts'
import type { Client } from './client.ts'
import { eventSources } from './event-sources.ts'
import { httpClients } from './http-clients.ts'
import { langchain } from './langchain.ts'
import { mcp } from './mcp.ts'
import { openai } from './openai.ts'
import { type Scenario, SCENARIOS } from './scenarios.ts'
import { type Front, setScene } from './scene.ts'
import { stripe } from './stripe.ts'

export const CLIENTS: readonly Client[] = [openai, anthropic, stripe, aiSdk, langchain, mcp, a2a, bedrock, httpClients, eventSources].flat()

export interface Row {
  readonly name: string
  readonly client: Client
  readonly scenario: Scenario
}

export const ROWS: readonly Row[] = CLIENTS.flatMap((client) =>
  SCENARIOS.map((scenario) => ({ name: `${client.name}: ${scenario.name}`, client, scenario })),
)

/** Rows spend their time waiting for clients to come again. */
export const ROWS_AT_ONCE = 10

const ROW_MS = 20_000

/** Half a minute where the machine has nothing else to do. */
export const TABLE_MS = 300_000

export interface Ending {
  readonly executions: number
  /** A client that failed has its error for a text. */
  readonly texts: readonly string[]
}

export async function play({ client, scenario }: Row, front: Front): Promise<Ending> {
  const scene = await setScene(client, front, scenario.form)
  try {
    const texts = await within('the end', scenario.play(scene), ROW_MS).catch((error: unknown) => [String(error)])
    return { executions: scene.backend.executions.length, texts }
  } finally {
    await scene.close()
  }
}

/** One execution, and its text for everybody. */
export function isRight({ executions, texts }: Ending): boolean {
  return executions === 1 && texts.every((text) => text === textOf(1))
}
