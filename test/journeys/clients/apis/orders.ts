// A plain JSON API, for the clients that know of no protocol.
import { type Api, json } from '../api.ts'

export const orders: Api = { reply: (_request, text) => json({ order: 7, text }) }

/** What guards it. */
export const ORDERS = `
  - name: orders
    match: { methods: [POST, PUT], path: /orders/:id }
    fingerprint: { order: body }
    inFlight: { answer: wait }
`

export const AUTHORIZATION = { authorization: 'Bearer a' }
