// An event that a provider delivers at least once: the event is the fact, each delivery has ids, times and signatures of its own.
import { json, text, type Kind } from './kind.ts'

const event = { id: 'evt_1', type: 'invoice.paid', created: 1_716_177_600, data: { object: { id: 'in_1', total: 500 } }, pending: 1 }
const SIGNED = ['X-Signature', 't=1,v1=aa', 'X-Delivery', 'd1']
const deliver = (changes: object, ...headers: string[]) => json('/hooks/billing', { ...event, ...changes }, ...SIGNED, ...headers)

export const webhookDelivery: Kind = {
  name: 'event delivered by a provider',
  rules: `
rules:
  - name: billing-event
    match: { path: /hooks/:provider }
    owner: none
    fingerprint:
      event: { from: [body.id, header.x-event-id], apply: [trim] }
      type: body.type
    digest: [body.data]
    digestIgnore: [body.data.object.fetched_at]
`,
  facts: [
    {
      request: json('/hooks/billing', event, ...SIGNED),
      same: {
        'delivered again, signed anew': json('/hooks/billing', event, 'X-Signature', 't=9,v1=bb', 'X-Delivery', 'd2'),
        'the count of what is left': deliver({ pending: 0 }),
        'another version of the API': deliver({ api_version: '2025-01-01' }),
        'other field order': text('/hooks/billing', JSON.stringify(Object.fromEntries(Object.entries(event).toReversed())), ...SIGNED),
        'white space': text('/hooks/billing', JSON.stringify(event, null, 2), ...SIGNED),
        'from another address': { ...deliver({}), ip: '203.0.113.9' },
        'the id in a header': deliver({ id: undefined }, 'X-Event-Id', 'evt_1'),
        'fetched at another time': deliver({ data: { object: { ...event.data.object, fetched_at: 2 } } }),
        'with credentials': deliver({}, 'Authorization', 'Basic x'),
      },
      conflict: { 'other data under this id': deliver({ data: { object: { id: 'in_1', total: 501 } } }) },
      different: {
        'another event': deliver({ id: 'evt_2' }),
        'another type': deliver({ type: 'invoice.voided' }),
        'another provider': { ...deliver({}), url: '/hooks/shipping' },
        'an id in capitals': deliver({ id: 'EVT_1' }),
      },
    },
  ],
}
