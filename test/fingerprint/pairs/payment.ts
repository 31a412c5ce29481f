// A payment by form: the application's key, or the order, is the wish; the amount must agree.
import { ANNA, BERT, form, multipart, type Kind } from './kind.ts'

const PAY = '/v1/payment_intents'
const SDK_KEY = (id: string): string[] => [...ANNA, 'Idempotency-Key', `stripe-node-retry-${id}`]
const APP_KEY = [...ANNA, 'Idempotency-Key', 'pay-o1']
const paid = 'amount=1999&currency=eur&description=Two+tickets&metadata[order_id]=o1'

export const payment: Kind = {
  name: 'payment (Stripe)',
  preset: 'stripe-like-payments',
  facts: [
    {
      request: form(PAY, paid, ...SDK_KEY('1')),
      same: {
        'a second click, with another key of the SDK': form(PAY, paid, ...SDK_KEY('2')),
        'no key at all': form(PAY, paid, ...ANNA),
        'other field order': form(PAY, 'metadata[order_id]=o1&description=Two+tickets&currency=eur&amount=1999', ...SDK_KEY('3')),
        'brackets and spaces escaped': form(
          PAY,
          'amount=1999&currency=eur&description=Two%20tickets&metadata%5Border_id%5D=o1',
          ...SDK_KEY('1'),
        ),
        'another version of the API': form(PAY, paid, ...SDK_KEY('4'), 'Stripe-Version', '2025-01-01', 'X-Stripe-Client-Telemetry', '{}'),
        'another trace id': form(PAY, `${paid}&metadata[trace_id]=t2`, ...SDK_KEY('5')),
        'more in the answer': form(PAY, `${paid}&expand[0]=customer&expand[1]=latest_charge`, ...SDK_KEY('6')),
        'more in the answer, said in the older way': form(PAY, `${paid}&expand[]=customer`, ...SDK_KEY('7')),
        'another device': form(PAY, paid, 'User-Agent', 'phone', ...SDK_KEY('8')),
      },
      conflict: {
        'another amount': form(PAY, paid.replace('1999', '19990'), ...SDK_KEY('9')),
        'another currency': form(PAY, paid.replace('eur', 'usd'), ...SDK_KEY('10')),
        'a customer': form(PAY, `${paid}&customer=cus_1`, ...SDK_KEY('11')),
        'an amount with a zero before it': form(PAY, paid.replace('1999', '01999'), ...SDK_KEY('12')),
      },
      different: {
        'another order': form(PAY, paid.replace('o1', 'o2'), ...SDK_KEY('1')),
        'an order in capitals': form(PAY, paid.replace('o1', 'O1'), ...SDK_KEY('1')),
        'on another account': form(PAY, paid, ...SDK_KEY('1'), 'Stripe-Account', 'acct_1'),
        'with a key of the application': form(PAY, paid, ...APP_KEY),
        'a refund': form('/v1/refunds', paid, ...SDK_KEY('1')),
        'another caller': form(PAY, paid, ...BERT),
      },
    },
    {
      request: form(PAY, 'amount=5&currency=eur', ...APP_KEY),
      same: {
        "the header's name in small letters": form(PAY, 'currency=eur&amount=5', ...ANNA, 'idempotency-key', ' pay-o1 '),
        'as a multipart form': multipart(
          PAY,
          'b1',
          [
            { name: 'currency', value: 'eur' },
            { name: 'amount', value: '5' },
          ],
          ...APP_KEY,
        ),
      },
      conflict: { 'another amount': form(PAY, 'amount=6&currency=eur', ...APP_KEY) },
      different: { 'another key': form(PAY, 'amount=5&currency=eur', ...ANNA, 'Idempotency-Key', 'pay-o2') },
    },
  ],
  passing: [form(PAY, 'amount=1999&currency=eur', ...SDK_KEY('1')), form('/v1/customers', 'name=a', ...APP_KEY)],
}
