// A transfer between accounts: account numbers without their blanks, amounts by value, days in German and English spelling.
import { ANNA, BERT, form, json, text, type Kind } from './kind.ts'

const transfer = { to: 'DE89370400440532013000', amount: '1250.00', currency: 'EUR', day: '2024-05-21', reference: 'Invoice 7' }
const pay = (changes: object, ...headers: string[]) => json('/transfers', { ...transfer, ...changes }, ...ANNA, ...headers)

export const bankTransfer: Kind = {
  name: 'transfer between accounts',
  files: { 'iban.mjs': "export default (value) => typeof value === 'string' ? value.replaceAll(/\\s/g, '').toUpperCase() : undefined\n" },
  rules: `
rules:
  - name: transfer
    match: { path: /transfers }
    fingerprint:
      to: { from: [body.to, body.iban], apply: [{ plugin: ./iban.mjs }] }
      amount: { from: body.amount, apply: [number] }
      currency: { from: body.currency, apply: [{ map: { €: EUR } }, upper], default: EUR }
      day: { from: body.day, apply: [{ date: { zone: Europe/Berlin, precision: day, locales: [de, en] } }] }
      reference: { from: body.reference, apply: [nfc, collapseSpace] }
    digest: [body.note]
`,
  facts: [
    {
      request: json('/transfers', transfer, ...ANNA),
      same: {
        'the account number in groups': pay({ to: 'DE89 3704 0044 0532 0130 00' }),
        'the account number in small letters': pay({ to: 'de89 370400440532013000' }),
        'the account number in another field': pay({ to: undefined, iban: transfer.to }),
        'the amount as a number': pay({ amount: 1250 }),
        'the amount with an exponent': text('/transfers', JSON.stringify(transfer).replace('"1250.00"', '1.25E+3'), ...ANNA),
        'the currency as a sign': pay({ currency: '€' }),
        'the currency left out': pay({ currency: undefined }),
        'the day in German': pay({ day: '21.5.2024' }),
        'the day as a word': pay({ day: 'morgen' }),
        'the day as an English word': pay({ day: 'tomorrow' }),
        'more white space in the reference': pay({ reference: ' Invoice \u00a07' }),
        'by a form': form(
          '/transfers',
          'reference=Invoice+7&to=DE89+3704+0044+0532+0130+00&amount=1250.0&day=2024-05-21&device=phone',
          ...ANNA,
        ),
        'another device': pay({ device: 'd2', sent_at: 9 }, 'X-Request-Id', '2'),
      },
      conflict: { 'with a note': pay({ note: 'urgent' }) },
      different: {
        'two figures of the account number changed': pay({ to: 'DE89370400440532010300' }),
        'ten times the amount': pay({ amount: '12500.00' }),
        'a fraction of a cent more': pay({ amount: '1250.001' }),
        'another currency': pay({ currency: 'usd' }),
        'a day later': pay({ day: 'übermorgen' }),
        'a year later': pay({ day: '2025-05-21' }),
        'another reference': pay({ reference: 'Invoice 77' }),
        'from somebody else': json('/transfers', transfer, ...BERT),
      },
    },
  ],
}
