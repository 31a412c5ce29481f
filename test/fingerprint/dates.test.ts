// The step `date`: many spellings of one day or instant, the same in every zone of the process.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { day, exact, reader, results } from './date-cases.ts'

const program = fileURLToPath(new URL('date-cases.js', import.meta.url))

for (const [name, precision, cases] of [
  ['day', 'day', day],
  ['exact', undefined, exact],
] as const) {
  for (const [expected, ...texts] of cases) {
    t.test(`${name}: ${expected}`, async (t) => {
      for (const text of texts) t.equal(reader({ precision })(text), expected, text)
    })
  }
}

t.test('the zone of the process changes nothing', async (t) => {
  const here = JSON.stringify(results())
  for (const TZ of ['UTC', 'America/Sao_Paulo', 'Pacific/Kiritimati', 'America/St_Johns', 'Asia/Shanghai']) {
    const there = execFileSync(process.execPath, [program], {
      env: { ...process.env, TZ },
      encoding: 'utf8',
    })
    t.equal(there.trim(), here, TZ)
  }
})

t.test('the order of month and day is the locale’s', async (t) => {
  t.equal(reader({ precision: 'day', locales: ['en'] })('5/6/2024'), '2024-05-06')
  t.equal(reader({ precision: 'day', locales: ['en-GB'] })('5/6/2024'), '2024-06-05')
  t.equal(reader({ precision: 'day', locales: ['de'] })('5.6.2024'), '2024-06-05')
  t.equal(reader({ precision: 'day', locales: ['de'] })('morgen'), '2024-05-21')
  t.equal(reader({ precision: 'day', locales: ['en'] })('明天'), undefined)
  t.equal(reader({ locales: ['de'] })('in 2 Stunden'), '2024-05-20T06:00:00Z')
})

t.test('around a turn of the year and of the week', async (t) => {
  const lastDay = reader({ precision: 'day' }, Date.UTC(2024, 11, 31, 4))
  for (const text of ['1月2日', 'Jan 2', '1/2', '2025-01-02']) t.equal(lastDay(text), '2025-01-02', text)
  for (const text of ['12月30日', 'Dec 30', '12/30']) t.equal(lastDay(text), '2024-12-30', text)
  const sunday = reader({ precision: 'day' }, Date.UTC(2024, 4, 26, 4))
  t.equal(sunday('下周三'), '2024-05-29', 'weeks begin on Monday')
  t.equal(sunday('这周三'), '2024-05-22')
  t.equal(sunday('周日'), '2024-05-26', 'today')
})

t.test('noon in words is not the day as a whole', async (t) => {
  for (const [locale, noon, whole] of [
    ['de', 'heute Mittag', 'heute'],
    ['es', 'mediodía', 'hoy'],
    ['zh', '中午', '今天'],
  ] as const) {
    t.not(reader({ locales: [locale] })(noon), reader({ locales: [locale] })(whole), noon)
    t.equal(reader({ locales: [locale], precision: 'day' })(noon), '2024-05-20', noon)
  }
})

t.test('days on which the clock changes', async (t) => {
  const newYork = reader({ zone: 'America/New_York' }, Date.UTC(2024, 10, 2, 16))
  t.equal(newYork('tomorrow 3pm'), '2024-11-03T20:00:00Z', 'after the end of summer time')
  t.equal(newYork('明天下午3点'), '2024-11-03T20:00:00Z')
  t.equal(newYork('in 24 hours'), '2024-11-03T16:00:00Z')
  t.equal(newYork('24小时后'), '2024-11-03T16:00:00Z')
  const vienna = reader({ zone: 'Europe/Vienna' })
  t.equal(vienna('2024-10-27T02:30:00'), '2024-10-27T02:30:00[Europe/Vienna]', 'twice on the clock: no instant')
  t.equal(vienna('2024-03-31T02:30'), '2024-03-31T02:30:00[Europe/Vienna]', 'never on the clock')
  t.equal(vienna('2024-10-27T03:30'), '2024-10-27T02:30:00Z')
  const nearMidnight = reader({ precision: 'day' }, Date.UTC(2024, 4, 20, 15, 59))
  t.equal(nearMidnight('tomorrow'), '2024-05-21')
  t.equal(reader({ precision: 'day' }, Date.UTC(2024, 4, 20, 16))('明天'), '2024-05-22', 'midnight in Shanghai')
})

t.test('what is finer than the precision does not count', async (t) => {
  const minute = reader({ precision: 'minute' })
  t.equal(minute('2024-05-20T10:00:59.9Z'), minute('2024-05-20T18:00:00+08:00'))
  t.not(minute('2024-05-20T10:00Z'), minute('2024-05-20T10:01Z'))
  const hour = reader({ precision: 'hour', zone: 'Asia/Kolkata' })
  t.equal(hour('2024-05-20T10:00'), hour('2024-05-20T10:59'), 'hours of the zone, not of UTC')
  t.not(minute('明天'), minute('明天0点'), 'no hour is made up')
})
