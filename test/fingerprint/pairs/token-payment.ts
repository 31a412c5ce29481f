// A payment in tokens that a language model words: the network by name or number, decimal amounts, free text beside.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const transfer = { chain: 'base', token: 'USDC', amount: '0.001', to: '0xAbC1', memo: 'hi' }
const pay = (changes: object, ...headers: string[]) => json('/pay', { ...transfer, ...changes }, ...ANNA, ...headers)

export const tokenPayment: Kind = {
  name: 'payment in tokens',
  rules: `
rules:
  - name: pay-tokens
    match: { path: /pay }
    fingerprint:
      chain: { from: [body.chain, body.chainId], apply: [lower, { map: { base: 8453, 0x2105: 8453, mainnet: 1, ethereum: 1 } }, integer] }
      token: { from: body.token, apply: [upper] }
      amount: { from: body.amount, apply: [number] }
      to: { from: body.to, apply: [lower] }
`,
  facts: [
    {
      request: json('/pay', transfer, ...ANNA),
      same: {
        'the network by its number': pay({ chain: 8453 }),
        'the number as a text': pay({ chain: '8453' }),
        'the number in another field': pay({ chain: undefined, chainId: 8453 }),
        'the number in hexadecimal': pay({ chain: '0x2105' }),
        'the network in capitals': pay({ chain: 'Base' }),
        'a zero more': pay({ amount: '0.0010' }),
        'no zero before the point': pay({ amount: '.001' }),
        'with an exponent': text('/pay', JSON.stringify(transfer).replace('"0.001"', '1e-3'), ...ANNA),
        'another wording': pay({ memo: 'Hello there, as agreed' }),
        'the address in small letters': pay({ to: '0xabc1' }),
        'the token in small letters': pay({ token: 'usdc' }),
        'another run of the agent': pay({ run_id: 'r2' }, 'X-Agent-Run', '2'),
      },
      different: {
        'ten times as much': pay({ amount: '0.01' }),
        'a trifle more': pay({ amount: '0.001000000000000000001' }),
        'another network': pay({ chain: 'mainnet' }),
        'another token': pay({ token: 'USDT' }),
        'another address': pay({ to: '0xAbC2' }),
        'by somebody else': json('/pay', transfer, ...BERT),
      },
    },
    {
      request: pay({ amount: '0.001000000000000000001' }),
      same: { 'a zero more': pay({ amount: '0.0010000000000000000010' }) },
      different: { 'what a double makes of it': pay({ amount: 0.001 }) },
    },
  ],
}
