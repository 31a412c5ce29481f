// Spellings of dates and what they mean; run as a program it prints how they are read in the zone of this process.
import type { DateSetting } from '../../src/config/step-schema.ts'
import { dateReader, loadDateTools } from '../../src/fingerprint/dates/read-date.ts'
import { NOW } from './requests.ts'

type Case = [expected: string | undefined, ...texts: string[]]

export const day: Case[] = [
  [
    '2024-05-21',
    '明天',
    '明日',
    'tomorrow',
    'Tomorrow ',
    '2024-05-21',
    '2024/5/21',
    '２０２４-０５-２１',
    '5/21/2024',
    '5/21',
    'May 21',
    '5月21日',
    '2024年5月21日',
  ],
  ['2024-05-21', '明天下午3点', '明早八点', '2024-05-20T16:00:00Z', '2024-05-21T23:59:59+08:00', 'tomorrow at 9am', 'tomorrow evening'],
  [
    '2024-05-20',
    '今天',
    'today',
    '今晚',
    '中午',
    'tonight',
    '周一',
    'Monday',
    '今晚八点',
    '两小时后',
    'in 2 hours',
    '3pm',
    '2024-05-20 23:00',
  ],
  ['2024-05-22', '后天', '後天', 'Wednesday', 'in 2 days', '两天后'],
  ['2024-05-29', 'next Wednesday', '下周三', '下週三', '下周三下午3点', '下个星期三'],
  [
    '2024-05-24',
    '本周五',
    '这周五',
    '這個星期五',
    '周五',
    'this Friday',
    'Friday',
    'on Friday',
    'Fri 3pm',
    'Friday at 15:00',
    'Friday morning',
    '本周五晚上',
  ],
  ['2024-05-26', '周日', '这周日', '星期天下午3点', 'Sunday', 'Sunday 3pm'],
  ['2024-06-02', '下周日', '下个星期天'],
  ['2024-06-05', '下下周三'],
  ['2024-05-17', '上周五', 'last Friday'],
  ['2024-01-02', '1月2日', 'Jan 2', '1/2'],
  ['2024-06-03', '两周后', '14天后'],
  ['2024-06-01', '下个月1号', '下個月一號'],
  ['2024-05-21', '晚上12点', '明晚', '明天晚上', '明早', '明天中午', 'tomorrow night'],
  [
    undefined,
    '',
    ' ',
    'soon',
    '会议',
    '明天和后天',
    'tomorrow or Friday',
    'book tomorrow',
    '2024-02-30',
    '2024-13-01',
    '2/30/2024',
    '3pm to 4pm',
    '明天开会',
    '2024-05-21T25:00',
    '25点',
    '元旦快乐',
    '三个月后',
    'x'.repeat(200),
  ],
]

export const exact: Case[] = [
  [
    '2024-05-29T07:00:00Z',
    '下周三下午3点',
    '下週三下午3點',
    '下周三15:00',
    'next Wednesday at 3pm',
    '2024-05-29 15:00',
    '2024-05-29T07:00:00Z',
    '2024-05-29T09:00:00.000+02:00',
  ],
  ['2024-05-22T01:30:00Z', '后天上午9点半', '后天上午九点三十分', '後天上午9點半', '2024-05-22T09:30'],
  ['2024-05-20T11:15:00Z', '晚上七点一刻', '晚上7点15分', '今天19:15'],
  ['2024-05-20T06:00:00Z', '两小时后', '2小时后', '兩個小時後', 'in 2 hours', 'in two hours', '120分钟之后'],
  ['2024-05-20T04:30:00Z', '半小时后', '半个小时以后', '三十分钟后', 'in half an hour'],
  ['2024-05-20T05:30:00Z', '一个半小时后', '90分钟后'],
  ['2024-05-20T16:00:00Z', '晚上12点', '明天0点', '2024-05-21 00:00'],
  ['2024-05-20T20:00:00Z', '3pm EST', '3pm GMT-5'],
  ['2024-05-21', '明天', 'tomorrow'],
  ['2024-05-21~6', 'tomorrow morning', '明早', '明天早上', '明天上午'],
  ['2024-05-21~15', 'tomorrow afternoon', '明天下午', '明天的下午'],
  ['2024-05-20~22', 'tonight', '今晚', '今天晚上'],
  ['2024-05-21T04:00:00Z', 'tomorrow noon', '明天中午', '明天12:00', '明天中午12点'],
  ['2024-05-21T00:00:00.001Z', '2024-05-21T00:00:00.001Z'],
]

const tools = await loadDateTools()
export const reader = (setting: Partial<DateSetting>, receivedAt = NOW) => {
  const read = dateReader({ zone: 'Asia/Shanghai', locales: ['en', 'zh'], ...setting }, tools)
  return (text: string) => read(text, receivedAt)
}

/** In which the library counts from what its reference shows on the process's own clock. */
const ELSEWHERE: [locale: DateSetting['locales'][number], ...texts: string[]][] = [
  ['en', 'last night', 'tonight', 'in 2 hours', 'now', 'end of the month', 'next week'],
  ['de', 'heute Abend', 'heute Mittag', 'morgen', 'Freitag', 'jetzt'],
  ['fr', 'cette nuit', 'la veille', 'vendredi prochain'],
  ['ja', '今夜', '今朝', '1月2日'],
  ['es', 'medianoche', 'mediodía', 'hoy'],
  ['nl', 'vanavond', 'morgenavond'],
  ['sv', 'imorgon', 'igår'],
  ['zh', '今晚', '明早', '周三', '下周三', '这周日', '1月2日', '12月30日', '三月三日'],
]
/** A Monday, a Sunday morning, the last hour of a year and the first of another, the end of summer time. */
const RECEIVED = [
  NOW,
  Date.UTC(2024, 4, 25, 23),
  Date.UTC(2024, 11, 31, 15, 30),
  Date.UTC(2024, 11, 31, 16, 30),
  Date.UTC(2024, 9, 27, 0, 30),
]

export const results = (): Record<string, string | undefined> =>
  Object.fromEntries([
    ...day.flatMap(([, ...texts]) => texts.map((text) => [`day ${text}`, reader({ precision: 'day' })(text)])),
    ...exact.flatMap(([, ...texts]) => texts.map((text) => [`exact ${text}`, reader({})(text)])),
    ...RECEIVED.flatMap((at) =>
      ELSEWHERE.flatMap(([locale, ...texts]) => texts.map((text) => [`${at} ${locale} ${text}`, reader({ locales: [locale] }, at)(text)])),
    ),
  ])

if (process.argv[1]?.endsWith('date-cases.js')) console.log(JSON.stringify(results()))
