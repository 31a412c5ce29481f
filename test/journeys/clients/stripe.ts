// The stripe SDK.
import Stripe from 'stripe'
import { paymentIntents } from './apis/payment-intents.ts'
import type { Client } from './client.ts'

const PAYMENT = { amount: 2000, currency: 'eur', metadata: { order_id: '7' } }

export const stripe: Client[] = [
  {
    name: 'stripe',
    api: paymentIntents,
    guard: { preset: 'stripe-like-payments' },
    open: (url, timeout) => {
      const { hostname, port } = new URL(url)
      const client = new Stripe('sk_test_123', { host: hostname, port, protocol: 'http', ...(timeout === undefined ? {} : { timeout }) })
      return async () => {
        const { amount, currency, description } = await client.paymentIntents.create(PAYMENT)
        // A problem that is taken for a payment has none of these.
        return `${amount} ${currency}` === '2000 eur' ? (description ?? '') : 'no payment'
      }
    },
  },
]
