// The console in a real browser: from an unknown outcome to its resolution, by keyboard, on a phone, in the dark, and with nothing from elsewhere.
import { readdirSync } from 'node:fs'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startChromium } from '../helpers/chromium.ts'
import { send } from '../helpers/client.ts'
import { fingerprintOf, stage } from '../helpers/stage.ts'
import { until } from '../helpers/until.ts'
import { json } from '../helpers/upstream.ts'

const TOKEN = 'a-token-of-the-operators'
const SHOWN_WITHIN_MS = 20_000
const HOSTILE = '<img src=x onerror="globalThis.harmed=true"><b>not bold</b>'

t.setTimeout(240_000)

/** As much of a browser's globals as is used in the page. */
interface Dom {
  harmed?: boolean
  document: {
    documentElement: { scrollWidth: number }
    activeElement: { textContent: string | null } | null
    body: object
    hidden: boolean
  }
  innerWidth: number
  getComputedStyle: (of: object) => { backgroundColor: string }
}

async function scene(t: Test) {
  const { ask, gateway, upstream } = await stage(t, {
    top: `adminToken: ${TOKEN}`,
    rules: `
  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key } }
  - { name: book, match: { path: '/rooms/:room' }, fingerprint: { room: path.room, day: body.day } }`,
    handler: (request, response) => {
      if (request.body.includes('breaks')) response.destroy()
      else if (!request.body.includes('runs')) json(response, 200, { ran: upstream.count() })
    },
  })
  const browser = await startChromium()
  t.teardown(() => browser.close())
  const complaints: string[] = []
  const asked: string[] = []
  const open = async (options: BrowserContextOptions = {}): Promise<{ page: Page; context: BrowserContext }> => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(SHOWN_WITHIN_MS)
    context.on('weberror', (error) => complaints.push(String(error.error())))
    // What is refused for want of a token is no complaint.
    context.on(
      'console',
      (message) => void (message.type() === 'error' && !message.text().includes('401') && complaints.push(message.text())),
    )
    context.on('request', (request) => asked.push(request.url()))
    const page = await context.newPage()
    await page.goto(gateway.adminUrl)
    await page.getByLabel('Admin token').fill(TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Unknown outcomes' }).waitFor()
    return { page, context }
  }
  const unknown = async (key: string) => fingerprintOf(await ask('/pay', { key, body: { what: 'breaks', key } }))
  return { ask, gateway, upstream, open, unknown, complaints, asked }
}

t.test(
  'from the list to the resolved record, with the keyboard alone; the page asks nobody else, and no address holds the token',
  async (t) => {
    const { ask, gateway, upstream, open, unknown, complaints, asked } = await scene(t)
    const fingerprint = await unknown('k')
    const { page } = await open()
    const link = page.getByRole('link', { name: `Resolve ${fingerprint.slice(0, 12)}` })
    await link.focus()
    await page.keyboard.press('Enter')
    const say = page.getByRole('button', { name: 'Say what became of it' })
    await say.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'What became of it?' })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    t.equal(await focused(page), 'Say what became of it', 'the focus comes back')
    await page.keyboard.press('Enter')
    // The chosen one of the three, then why, and the key that sends.
    await dialog.getByRole('radio', { name: 'It has not happened' }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.type(HOSTILE)
    await page.keyboard.press('Enter')
    await page.getByText('It did not happen. The next request may execute.').waitFor()
    await page.getByText(HOSTILE, { exact: true }).waitFor()
    t.equal(await page.evaluate(() => (globalThis as unknown as Dom).harmed), undefined)
    t.match(
      gateway.log.find(({ audit }) => audit === 'release'),
      { fingerprint, reason: HOSTILE, credential: 'adminToken', before: 'unknown', after: 'failed' },
    )
    t.equal((await ask('/pay', { key: 'k', body: { what: 'breaks', key: 'k' } })).status, 502)
    t.equal(upstream.count(), 2, 'the next request has executed')

    // And one that has happened, with its answer.
    await say.click()
    await dialog.getByText('It has happened', { exact: true }).click()
    await dialog.getByLabel('HTTP status').fill('201')
    await dialog.getByLabel('Content-Type').fill('application/json')
    await dialog.getByLabel('Body of the answer').fill('{"paid":true}')
    await dialog.getByRole('button', { name: 'Record it' }).click()
    await page.getByText('The answer is stored.').waitFor()
    t.match(await ask('/pay', { key: 'k', body: { what: 'breaks', key: 'k' } }), { status: 201, text: '{"paid":true}' })
    await page.getByRole('button', { name: 'Forget it' }).click()
    await page.getByRole('dialog', { name: 'Forget this record?' }).getByRole('button', { name: 'Forget it' }).click()
    await page.getByRole('alert').getByText('No such fingerprint').waitFor()
    t.same(
      complaints.filter((text) => !text.includes('404')),
      [],
    )
    t.ok(asked.length > 10 && asked.every((url) => url.startsWith(gateway.adminUrl)), 'nothing from elsewhere')
    t.notOk(asked.some((url) => url.includes(TOKEN)))
    t.notMatch(page.url(), TOKEN)
  },
)

function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => (globalThis as unknown as Dom).document.activeElement?.textContent)
}

t.test('what runs shows with its age, as it comes and goes; records are listed, found, and requests explained', async (t) => {
  const { ask, upstream, open, unknown, complaints } = await scene(t)
  const { page } = await open()
  await page.getByText('Nothing waits for you').waitFor()
  const running = ask('/rooms/7', { body: { day: 'runs' } }).catch(() => {})
  await upstream.arrived(1)
  const inFlight = page.getByRole('table', { name: 'Executions in flight' })
  await inFlight.getByRole('link', { name: 'book' }).waitFor()
  const fingerprint = await unknown('of-a-client')
  for (let n = 0; n < 4; n++) await ask('/pay', { key: 'storm', body: {} })
  await page.getByRole('table', { name: 'Records whose outcome nobody knows' }).waitFor()
  await page.getByRole('table', { name: 'asked for again and again' }).waitFor()

  await page.getByRole('link', { name: 'Records', exact: true }).click()
  await page.getByLabel('Status').selectOption('unknown')
  await page.getByText('1 shown, 3 looked at.').waitFor()
  await page.getByLabel('Idempotency key').fill('of-a-client')
  await page.getByLabel('Authorization of its owner').fill('Bearer a')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByText(fingerprint, { exact: true }).waitFor()
  await page.getByText('it may have happened, or not').waitFor()

  await page.getByRole('link', { name: 'Try a request' }).click()
  await page.getByLabel('Path or URL').fill('/pay')
  await page.getByLabel('Headers').fill('Authorization: Bearer a\nIdempotency-Key: of-a-client')
  await page.getByLabel('Body').fill(HOSTILE)
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByRole('heading', { name: 'Guarded by “pay”' }).waitFor()
  await page.getByRole('link', { name: fingerprint }).waitFor()

  await page.getByRole('link', { name: 'Rules', exact: true }).click()
  await page.getByRole('row', { name: /^pay 5 2 60 % 60 % 0 % 0 %/ }).waitFor()
  await page
    .getByRole('img', { name: /Requests per second/ })
    .locator('canvas')
    .waitFor()
  t.same(complaints, [])
  upstream.server.closeAllConnections()
  await running
})

t.test('on a phone nothing is cut off, and the colours follow the reader', async (t) => {
  const { open, unknown } = await scene(t)
  const fingerprint = await unknown('k')
  const grounds = new Set<string>()
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await open({ viewport: { width: 360, height: 740 }, colorScheme })
    for (const place of ['#/', '#/records', `#/records/${fingerprint}`, '#/rules', '#/try']) {
      await page.goto(`${page.url().split('#')[0]}${place}`)
      await page.locator('main h1').waitFor()
      const over = await page.evaluate(() => {
        const { document, innerWidth } = globalThis as unknown as Dom
        return document.documentElement.scrollWidth - innerWidth
      })
      t.ok(over <= 0, `${place}: ${over} px too wide`)
    }
    grounds.add(
      await page.evaluate(() => {
        const { document, getComputedStyle } = globalThis as unknown as Dom
        return getComputedStyle(document.body).backgroundColor
      }),
    )
  }
  t.equal(grounds.size, 2)
})

t.test('a page that nobody sees asks nothing', async (t) => {
  const { open, asked } = await scene(t)
  const { page } = await open()
  const overviews = () => asked.filter((url) => url.endsWith('/overview')).length
  const hide = (hidden: boolean) =>
    page.evaluate((hidden) => {
      const { document } = globalThis as unknown as { document: EventTarget }
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, hidden)
  const before = overviews()
  await until('it asks again by itself', () => overviews() > before, SHOWN_WITHIN_MS)
  await hide(true)
  // One may have been under way.
  await page.waitForTimeout(500)
  const hidden = overviews()
  await page.waitForTimeout(4500)
  t.equal(overviews(), hidden)
  await hide(false)
  await until('it asks at once', () => overviews() > hidden, SHOWN_WITHIN_MS)
})

t.test('without a token the page tells nothing, and a wrong one is refused', async (t) => {
  const { gateway, open, unknown } = await scene(t)
  await unknown('k')
  const get = (path: string) => send(gateway.adminUrl + path, { method: 'GET' })
  for (const path of ['/overview', '/records', '/config', '/console', '/consolex']) t.equal((await get(path)).status, 401, path)
  const page = await get('/')
  t.equal(page.status, 200)
  t.notMatch(page.text, /pay|secret/)
  t.match(page.headers['content-security-policy'], /default-src 'none'; script-src 'self' 'sha256-[^']+'; style-src 'self'/)
  t.equal((await get('/console/nothing.js')).status, 404)
  t.equal((await get('/console/..%2f..%2fguard.js')).status, 404)
  t.equal((await get('/console/../overview')).status, 404)
  for (const name of readdirSync(new URL('../../../src/admin/console/', import.meta.url)))
    if (name !== 'page.html') t.equal((await get(`/console/${name}`)).status, 200, name)
  const { page: shown } = await open()
  await shown.getByRole('button', { name: 'Sign out' }).click()
  await shown.getByLabel('Admin token').fill('not the token')
  await shown.keyboard.press('Enter')
  await shown.getByText('This is not the token of this gateway.').waitFor()
})
