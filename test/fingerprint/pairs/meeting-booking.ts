// A room that an agent books: by words or by fields, in two languages, tomorrow as a word or as a date.
import { NOW } from '../requests.ts'
import { ANNA, BERT, json, type Kind } from './kind.ts'

const DAY = 86_400_000
const booking = { text: '帮我订3楼小会议室', room: '3楼小会议室', start: '明天下午3点', attendees: ['b', 'c'], duration: 60, message_id: 1 }
const book = (changes: object, ...headers: string[]) => json('/bookings', { ...booking, ...changes }, ...ANNA, ...headers)
const starting = (start: string) => book({ start })

export const meetingBooking: Kind = {
  name: 'booking of a room',
  preset: 'meeting-booking',
  facts: [
    {
      request: json('/bookings', booking, ...ANNA),
      same: {
        'another word for booking': book({ text: '预定一下3楼小会议室' }),
        'in English': book({ text: 'Please book the small room', start: 'tomorrow at 3pm' }),
        reserved: book({ text: 'RESERVE the small room on the third floor' }),
        'by a field': book({ text: undefined, action: 'book' }),
        "the room's number": book({ room: '789' }),
        'the number as a number, in its own field': book({ room: undefined, room_id: 789 }),
        'the room with full-width characters': book({ room: '３楼小会议室' }),
        'the room in Chinese numerals': book({ room: '三楼小会议室' }),
        'the room in English': book({ room: ' Small  room on 3' }),
        'on the 24-hour clock': starting('明天15:00'),
        'in English words': starting('tomorrow 3pm'),
        'tomorrow by its date': starting('2024-05-21 15:00'),
        'a date with an offset, and seconds': starting('2024-05-21T15:00:30+08:00'),
        'in UTC': starting('2024-05-21T07:00:00Z'),
        'a date as in America': starting('5/21/2024 3pm'),
        'a date in Chinese': starting('2024年5月21日下午3点'),
        'in another field': book({ start: undefined, time: '明天下午三点' }),
        'on the day itself': { ...starting('今天下午3点'), receivedAt: NOW + DAY },
        'through an agent': json('/agents/a1/bookings', booking, ...ANNA),
        'through another agent, as another message': json(
          '/agents/a2/bookings',
          { ...booking, message_id: 2, conversation: 'c9' },
          ...ANNA,
        ),
        'another device': book({}, 'User-Agent', 'phone', 'X-Request-Id', '2'),
      },
      conflict: {
        'for other people': book({ attendees: ['b'] }),
        'for longer': book({ duration: 90 }),
      },
      different: {
        'another room': book({ room: '790' }),
        'the large room': book({ room: '3楼大会议室' }),
        'the day after': starting('后天下午3点'),
        'an hour later': starting('tomorrow 4pm'),
        'a minute later': starting('2024-05-21T15:01:00+08:00'),
        'in the morning': starting('明天上午3点'),
        'another zone': starting('2024-05-21T15:00:00Z'),
        'no time of day': starting('明天'),
        'a week later': starting('5/28/2024 3pm'),
        'the same word on the next day': { ...starting('明天下午3点'), receivedAt: NOW + DAY },
        cancelled: book({ text: '取消预订3楼小会议室' }),
        moved: book({ text: '把3楼小会议室的预订改一下' }),
        'moved, in English': book({ text: 'Please reschedule the small room' }),
        'by somebody else': json('/bookings', booking, ...BERT),
      },
    },
    {
      request: book({ text: '取消3楼小会议室', start: '下周日中午' }),
      same: {
        'another word for it': book({ text: '退订3楼小会议室', start: '下周日中午' }),
        'in English': book({ text: 'Cancel my booking', start: '2024-06-02 noon' }),
        'as a removal': book({ text: 'please remove the reservation', start: 'June 2 at noon' }),
        'the time in figures': book({ text: '取消', start: '6月2日12:00' }),
        'said on the Sunday before': { ...book({ text: '取消', start: '下周日中午12点' }), receivedAt: NOW + 6 * DAY },
      },
      different: {
        'a booking': book({ text: '预订3楼小会议室', start: '下周日中午' }),
        'this Sunday': book({ text: '取消3楼小会议室', start: '这周日中午' }),
        'that day, at no time': book({ text: '取消3楼小会议室', start: '下周日' }),
        'in the evening': book({ text: '取消3楼小会议室', start: '下周日晚上' }),
      },
    },
    {
      request: book({ start: 'Friday 3pm' }),
      same: {
        'in Chinese': book({ start: '周五下午3点' }),
        'of this week': book({ start: '本周五15:00' }),
        'by its date': book({ start: '2024-05-24 15:00' }),
        'said again on Wednesday': { ...book({ start: 'Friday at 3pm' }), receivedAt: NOW + 2 * DAY },
      },
      different: { 'next Friday': book({ start: 'next Friday 3pm' }), 'last Friday': book({ start: 'last Friday 3pm' }) },
    },
    {
      request: json('/bookings', booking, 'X-User-Id', 'u1', ...ANNA),
      same: { 'signed in anew': json('/bookings', booking, 'X-User-Id', 'u1', 'Authorization', 'Bearer anna-2') },
      different: { 'another user of the same agent': json('/bookings', booking, 'X-User-Id', 'u2', ...ANNA) },
    },
  ],
}
