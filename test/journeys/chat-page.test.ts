// The demo's page in a real browser, before the gateway as `npm start` starts it: reloaded in mid-answer, it goes on where it was.
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startChromium } from '../helpers/chromium.ts'
import { type GatewayProcess, startedProcess } from '../helpers/gateway-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const SHOWN_WITHIN_MS = 60_000
const QUESTION = 'Was it 50% off? 一次'
const START = `You asked: “${QUESTION}” A real agent`
const END = 'However often this is asked, I run once.'

interface Scene {
  readonly gateway: GatewayProcess
  readonly context: BrowserContext
  /** What the browser complained of, in any page. */
  readonly complaints: string[]
}

async function scene(t: Test): Promise<Scene> {
  const directory = await temporaryDirectory()
  const args = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--store', `lmdb:${directory.path}`]
  const gateway = await startedProcess(args, { UPSTREAM: '' })
  const browser = await startChromium()
  const context = await browser.newContext()
  t.teardown(async () => {
    await browser.close()
    await gateway.kill()
    await directory.remove()
  })
  const complaints: string[] = []
  context.on('weberror', (error) => complaints.push(String(error.error())))
  context.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  await context.addInitScript(recordAnswer)
  return { gateway, context, complaints }
}

/** In the page: keeps every text that its answer has shown. */
function recordAnswer(): void {
  const seen: string[] = []
  Object.assign(globalThis, { seen })
  const { document, MutationObserver } = globalThis as unknown as Dom
  new MutationObserver(() => {
    const text = document.getElementById('answer')?.textContent ?? ''
    if (text !== seen.at(-1)) seen.push(text)
  }).observe(document, { childList: true, subtree: true, characterData: true })
}

/** As much of a browser's globals as is used in the page. */
interface Dom {
  document: { getElementById: (id: string) => { textContent: string | null } | null }
  MutationObserver: new (change: () => void) => { observe: (target: unknown, options: object) => void }
}

const seenBy = (page: Page) => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen)

async function ask(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Your question').fill(QUESTION)
  await page.keyboard.press('Enter')
}

const textOf = async (page: Page, id: string) => (await page.locator(`#${id}`).textContent()) ?? ''
const answerOf = (page: Page) => textOf(page, 'answer')

/** Until the element's text, as it stands in the page, passes. */
async function shown(page: Page, id: string, how: 'is longer than' | 'begins with' | 'holds', what: string): Promise<void> {
  await page.waitForFunction(
    ([id, how, what]) => {
      const text = (globalThis as unknown as Dom).document.getElementById(id)?.textContent ?? ''
      if (how === 'is longer than') return text.length > what.length
      return how === 'holds' ? text.includes(what) : text.startsWith(what)
    },
    [id, how, what] as const,
    { timeout: SHOWN_WITHIN_MS, polling: 20 },
  )
}

async function whole(page: Page): Promise<string> {
  await shown(page, 'state', 'holds', 'whole')
  return answerOf(page)
}

/** Each text goes on where the one before it ended: no gap, no repeat. */
function growsTo(end: string, texts: string[]): boolean {
  return texts.at(-1) === end && texts.every((text, at) => at === 0 || text.startsWith(texts[at - 1]!))
}

/** What the agent says to the question when it is asked for one piece: an execution of its own. */
async function inOnePiece(gateway: GatewayProcess): Promise<unknown> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: QUESTION }], seconds: 0 }),
  })
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  return choices[0]?.message.content
}

async function runs(gateway: GatewayProcess): Promise<unknown> {
  const { paths } = (await (await fetch(`${gateway.url}/executions`)).json()) as { paths: Record<string, number> }
  return paths['/v1/chat/completions']
}

t.test('reloaded in mid-answer, and opened in a second tab, it goes on where it was, and the agent runs once', async (t) => {
  const { gateway, context, complaints } = await scene(t)
  const page = await context.newPage()
  await ask(page, gateway.url)
  await shown(page, 'answer', 'begins with', START)
  const before = await answerOf(page)

  await page.reload()
  await shown(page, 'answer', 'begins with', before)
  t.notMatch(await answerOf(page), END, 'it has joined while the answer still came')
  t.equal(await textOf(page, 'state'), 'This page has joined the answer. Nothing runs anew.')
  t.equal(await page.getByLabel('Your question').inputValue(), QUESTION)

  const second = await context.newPage()
  await second.goto(page.url())
  await shown(second, 'answer', 'begins with', before)
  const followed = await Promise.all([answerOf(page), answerOf(second)])
  for (const text of followed) t.notMatch(text, END, 'both are in mid-answer')
  await Promise.all([page, second].map((tab, at) => shown(tab, 'answer', 'is longer than', followed[at]!)))

  const text = await whole(page)
  t.ok(text.startsWith(START) && text.endsWith(END), text)
  t.equal(await whole(second), text)
  for (const tab of [page, second]) {
    t.ok(growsTo(text, await seenBy(tab)), 'what has been shown was never taken back')
    t.equal(await textOf(tab, 'runs'), '1')
  }
  await page.reload()
  t.equal(await whole(page), text, 'reloaded after the end, it shows the result')
  t.equal(await runs(gateway), 1)

  await page.getByRole('button', { name: 'Ask' }).click()
  await shown(page, 'state', 'holds', 'has begun')
  t.equal(await runs(gateway), 2, 'asked again after the end, it is a new question')
  await page.getByRole('button', { name: 'Ask' }).click()
  await shown(page, 'state', 'holds', 'has joined')
  t.ok(text.startsWith(await answerOf(page)), 'which a second click joins, from its first word')
  t.equal(await runs(gateway), 2)
  t.equal(await inOnePiece(gateway), text, 'there was no gap and no repeat')
  t.same(complaints, [])
})
