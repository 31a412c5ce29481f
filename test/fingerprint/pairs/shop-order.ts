// An order in a shop: the basket counts without its order, amounts by their value, through the app and through the page.
import { ANNA, BERT, form, json, text, type Kind } from './kind.ts'

const basket = [
  { sku: 'A-1', quantity: 2, shown_at: 3 },
  { sku: 'B-2', quantity: 1 },
]
const order = { cart: 'c1', items: basket, total: '59.90', coupon: 'SPRING', address: '12 High Street, Bath' }
const place = (changes: object, ...headers: string[]) => json('/app/orders', { ...order, ...changes }, ...ANNA, ...headers)

export const shopOrder: Kind = {
  name: 'order in a shop',
  rules: `
rules:
  - name: place-order
    match: { path: [/app/orders, /web/checkout] }
    scope: rule
    fingerprint:
      cart: body.cart
      items: { from: 'body.items[*]', apply: [{ pick: [sku, quantity] }, sort], optional: true }
      total: { from: body.total, apply: [{ number: { round: 2 } }] }
      coupon: { from: body.coupon, apply: [trim, upper, { absentIf: '^$' }], optional: true }
      address: { from: body.address, apply: [nfkc, lower, collapseSpace] }
      gift: { from: body.gift, default: false }
`,
  facts: [
    {
      request: json('/app/orders', order, ...ANNA),
      same: {
        'through the page': json('/web/checkout', order, ...ANNA),
        'items in another order': place({ items: basket.toReversed() }),
        'members of an item in another order': place({ items: basket.map(({ sku, quantity }) => ({ quantity, sku })) }),
        'what was shown with an item': place({ items: basket.map((item) => ({ ...item, shown_at: 9, price: 1 })) }),
        'the total as a number': place({ total: 59.9 }),
        'the total with an exponent': text('/app/orders', JSON.stringify(order).replace('"59.90"', '5.99e1'), ...ANNA),
        'the total with a rounding error': place({ total: 59.900000000000006 }),
        'the coupon in small letters': place({ coupon: ' spring ' }),
        'the address in another spelling': place({ address: '12  HIGH street,\tBath ' }),
        'no gift, said': place({ gift: false }),
        'another device': place({ client: 'ios', tracking: { utm: 'x' } }, 'User-Agent', 'phone'),
      },
      different: {
        'one more of an item': place({ items: [{ sku: 'A-1', quantity: 3 }, basket[1]] }),
        'an item on two lines': place({ items: [{ sku: 'A-1', quantity: 1 }, { sku: 'A-1', quantity: 1 }, basket[1]] }),
        'an item in small letters': place({ items: [{ sku: 'a-1', quantity: 2 }, basket[1]] }),
        'a cent more': place({ total: '59.91' }),
        'no coupon': place({ coupon: '' }),
        'another coupon': place({ coupon: 'SPRING2' }),
        'another house': place({ address: '21 High Street, Bath' }),
        'as a gift': place({ gift: true }),
        'another basket': place({ cart: 'c2' }),
        'another customer': json('/app/orders', order, ...BERT),
      },
    },
    {
      request: place({ coupon: undefined, items: [], total: 0 }),
      same: {
        'a coupon of blanks, nothing times minus one': text(
          '/app/orders',
          JSON.stringify({ ...order, coupon: '  ', items: [] }).replace('"59.90"', '-0.00'),
          ...ANNA,
        ),
      },
      different: {},
    },
  ],
  passing: [form('/cart', 'sku=A-1', ...ANNA)],
}
