// An order that its owner, known by a verified token, cancels in words of either language.
import { TOKEN_SECRET, type Asked } from '../identifier.ts'
import { NOW } from '../requests.ts'
import { json, type Kind } from './kind.ts'

const token = { iss: 'https://shop', sub: 'user-7', jti: 'a', iat: NOW / 1000 }
const ask = (action: string, more: object = {}, ...headers: string[]): Asked => ({
  ...json('/orders/1001/actions', { action, client_id: 'c1', ...more }, ...headers),
  claims: token,
})
const fact = ask('取消订单')

export const orderCancel: Kind = {
  name: 'order cancelled by its owner',
  rules: `
jwt: { secret: "${TOKEN_SECRET}" }
rules:
  - name: order-action
    match: { path: /orders/:order/actions }
    owner: jwt.sub
    fingerprint:
      order: path.order
      action:
        from: [body.action, body.button]
        apply:
          - nfkc
          - match:
              - { regex: '退货|(?i)\\breturn\\b', to: RETURN }
              - { regex: '取消|不要了|(?i)\\bcancel', to: CANCEL }
      items: { from: 'body.items[*]', apply: [set], optional: true }
`,
  facts: [
    {
      request: fact,
      same: {
        'in short': ask('取消'),
        politely: ask('请帮我取消这个订单，谢谢'),
        'in other words': ask('我不要了'),
        'in English': ask('Cancel my order'),
        'in capitals': ask('CANCEL'),
        'in full-width letters': ask('ｃａｎｃｅｌ'),
        "by a button's name": { ...json('/orders/1001/actions', { button: 'cancel-order' }), claims: token },
        'a fresh token': { ...fact, claims: { ...token, jti: 'b', iat: NOW / 1000 + 60, exp: NOW / 1000 + 1e9 } },
        'a token with another device in it': { ...fact, claims: { ...token, device: 'phone', aud: 'app' } },
        'another device and client id': ask('取消订单', { client_id: 'c2', sent_at: 5 }, 'User-Agent', 'phone'),
        'the path escaped': { ...fact, url: '/orders/%31001/actions/' },
        'a list of items that is empty': ask('取消订单', { items: [] }),
      },
      different: {
        'another order': { ...fact, url: '/orders/1002/actions' },
        'an order with a zero before it': { ...fact, url: '/orders/01001/actions' },
        'another owner': { ...fact, claims: { ...token, sub: 'user-8' } },
        "another issuer's user of that name": { ...fact, claims: { ...token, iss: 'https://other' } },
        'sent back instead': ask('退货'),
        'sent back, in English': ask('I want to return it'),
        hurried: ask('催单'),
        'one item only': ask('取消订单', { items: ['A'] }),
      },
    },
    {
      request: ask('cancel', { items: ['A', 'B'] }),
      same: {
        'items in another order': ask('取消', { items: ['B', 'A'] }),
        'an item said twice': ask('取消', { items: ['A', 'B', 'A'] }),
      },
      different: { 'an item less': ask('cancel', { items: ['A'] }) },
    },
  ],
}
