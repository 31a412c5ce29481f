// A section of a paper, written by a slow and costly task: the page's id says which wish it is.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const SECTIONS = '/tasks/7/sections'
const section = { section: 'intro', words: 500, request_id: 'r1', sent_at: 1 }

export const paperSection: Kind = {
  name: 'section of a paper',
  preset: 'paper-section',
  facts: [
    {
      request: json(SECTIONS, section, ...ANNA, 'X-Request-Id', 'p1'),
      same: {
        "another id of a proxy's": json(SECTIONS, section, ...ANNA, 'X-Request-Id', 'p2'),
        'sent later': json(SECTIONS, { ...section, sent_at: 99 }, ...ANNA),
        'the second try, traced': json(SECTIONS, { ...section, attempt: 2, trace_id: 't' }, ...ANNA),
        'other field order': json(SECTIONS, Object.fromEntries(Object.entries(section).toReversed()), ...ANNA),
        'a number in another spelling': text(SECTIONS, JSON.stringify(section).replace('500', '5e2'), ...ANNA),
        'the action said': json(SECTIONS, { ...section, action: 'GENERATE_SECTION' }, ...ANNA),
        'the other route, the action in small letters': json('/tasks/7/actions', { ...section, action: ' generate_section ' }, ...ANNA),
        'the id in a header': json(SECTIONS, { section: 'intro', words: 500 }, ...ANNA, 'X-Client-Request-Id', 'r1'),
        'the id with blanks': json(SECTIONS, { ...section, request_id: ' r1 ' }, ...ANNA),
        'another device': json(SECTIONS, section, 'User-Agent', 'phone', ...ANNA),
      },
      conflict: {
        'another section under this id': json(SECTIONS, { ...section, section: 'methods' }, ...ANNA),
        longer: json(SECTIONS, { ...section, words: 501 }, ...ANNA),
        'with a style': json(SECTIONS, { ...section, style: 'plain' }, ...ANNA),
      },
      different: {
        'another task': json('/tasks/8/sections', section, ...ANNA),
        'another wish of the page': json(SECTIONS, { ...section, request_id: 'r2' }, ...ANNA),
        'another action': json(SECTIONS, { ...section, action: 'REVISE_SECTION' }, ...ANNA),
        'another writer': json(SECTIONS, section, ...BERT),
        'by a session': json(SECTIONS, section, 'Cookie', 'session=anna'),
      },
    },
  ],
}
