// A fake of Stripe's payment intents: form in, JSON out.
import { type Api, json } from '../api.ts'

export const paymentIntents: Api = {
  reply: ({ body }, text) => {
    const form = new URLSearchParams(body.toString())
    const amount = Number(form.get('amount'))
    return json({ id: 'pi_1', object: 'payment_intent', amount, currency: form.get('currency'), description: text })
  },
}
