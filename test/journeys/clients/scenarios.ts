// What befalls a client: each scenario plays it, and resolves with the texts that the user got.
import { until } from '../../helpers/until.ts'
import type { Form } from './backend.ts'
import type { Call } from './client.ts'
import type { Scene } from './scene.ts'

export interface Scenario {
  readonly name: string
  /** The backend answers at once, or stops in the middle until it is told to go on. */
  readonly form: Form
  readonly play: (scene: Scene) => Promise<string[]>
}

const IMPATIENT_MS = 1000
const AT_ONCE = 8
const CLICKS = 5

export const SCENARIOS: readonly Scenario[] = [
  { name: 'a double click', form: 'whole', play: doubleClick },
  { name: 'a time-out', form: 'whole', play: timeOut },
  { name: 'a connection cut before the answer', form: 'whole', play: cutBefore },
  { name: 'a connection cut inside the answer, which goes on', form: 'in halves', play: cutInside },
  { name: 'a connection cut inside the answer, which was whole', form: 'whole', play: cutInside },
  { name: 'eight calls at once', form: 'whole', play: eightAtOnce },
]

/** Begins a call; that it fails is no news until somebody asks. */
function begin(call: Call): Promise<string> {
  const text = call()
  text.catch(() => {})
  return text
}

/** Waits, but not longer than the calls last. */
async function during(texts: readonly Promise<string>[], waiting: Promise<void>): Promise<void> {
  waiting.catch(() => {})
  await Promise.race([waiting, ...texts])
}

/** A person: when the client has given up, clicks again, and waits as long as it takes. */
async function persist(first: Call, again: Call): Promise<string> {
  let call = first
  for (let click = 1; ; click++) {
    try {
      return await call()
    } catch (error) {
      if (click === CLICKS) throw error
    }
    call = again
  }
}

async function doubleClick({ client, backend, url, come }: Scene): Promise<string[]> {
  const call = await client.open(url)
  const first = begin(call)
  await during([first], backend.runs(1))
  const second = begin(call)
  await come(2)
  backend.begin()
  return Promise.all([first, second])
}

async function timeOut({ client, backend, url, come }: Scene): Promise<string[]> {
  const [impatient, patient] = [await client.open(url, IMPATIENT_MS), await client.open(url)]
  const text = begin(() => persist(impatient, patient))
  await during([text], backend.runs(1))
  await come(2)
  backend.begin()
  return [await text]
}

async function cutBefore({ client, backend, network, url, settled }: Scene): Promise<string[]> {
  const patient = await client.open(url)
  const first = client.hangsWhenCut ? await client.open(url, IMPATIENT_MS) : patient
  const text = begin(() => persist(first, patient))
  await during([text], backend.runs(1))
  network.fault = 'dropReplies'
  backend.begin()
  await until('an answer is lost', () => network.dropped > 0, 10_000)
  await settled()
  network.fault = 'none'
  network.cut()
  return [await text]
}

async function cutInside({ client, backend, network, url, come }: Scene): Promise<string[]> {
  const patient = await client.open(url)
  const first = client.hangsWhenCut ? await client.open(url, IMPATIENT_MS) : patient
  const text = begin(() => persist(first, patient))
  await during([text], backend.runs(1))
  network.fault = 'cutInside'
  backend.begin()
  await until('an answer is cut', () => network.dropped > 0, 10_000)
  network.fault = 'none'
  // A client that goes on with an event's id does not ask for the same again.
  await during([text], come(2))
  backend.finish()
  return [await text]
}

async function eightAtOnce({ client, backend, url, come }: Scene): Promise<string[]> {
  const call = await client.open(url)
  const texts = Array.from({ length: AT_ONCE }, () => begin(call))
  await during(texts, backend.runs(1))
  await come(AT_ONCE)
  backend.begin()
  return Promise.all(texts)
}
