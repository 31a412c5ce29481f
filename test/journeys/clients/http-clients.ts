// Clients that know HTTP and no API: axios-retry, got, ky and undici's RetryAgent. Most repeat a PUT by themselves, and no POST.
import axios from 'axios'
import axiosRetry from 'axios-retry'
import got from 'got'
import ky from 'ky'
import { Agent, request, RetryAgent } from 'undici'
import { AUTHORIZATION, orders, ORDERS } from './apis/orders.ts'
import { type Client, QUESTION, signalAfter } from './client.ts'

interface Order {
  text: string
}
type Method = 'POST' | 'PUT'

const PATH = '/orders/7'
const ORDER = { what: QUESTION }

const OPEN: Record<string, (method: Method) => Client['open']> = {
  'axios-retry': (method) => (url, timeout) => {
    const client = axios.create({ baseURL: url, headers: AUTHORIZATION, timeout })
    axiosRetry(client)
    return async () => (await client.request<Order>({ method, url: PATH, data: ORDER })).data.text
  },
  got: (method) => (url, timeout) => async () =>
    (await got(url + PATH, { method, headers: AUTHORIZATION, json: ORDER, timeout: { request: timeout } }).json<Order>()).text,
  ky: (method) => (url, timeout) => async () =>
    (await ky(url + PATH, { method, headers: AUTHORIZATION, json: ORDER, ...(timeout === undefined ? {} : { timeout }) }).json<Order>())
      .text,
  'undici RetryAgent': (method) => (url, timeout) => {
    const dispatcher = new RetryAgent(new Agent())
    const headers = { ...AUTHORIZATION, 'content-type': 'application/json' }
    return async () => {
      const { statusCode, body } = await request(url + PATH, {
        method,
        headers,
        body: JSON.stringify(ORDER),
        dispatcher,
        ...signalAfter(timeout),
      })
      const answer = (await body.json()) as Order
      // Whatever the status, it is an answer to this one.
      if (statusCode !== 200) throw new Error(String(statusCode))
      return answer.text
    }
  },
}

export const httpClients: Client[] = Object.entries(OPEN).flatMap(([name, open]) =>
  (['POST', 'PUT'] as const).map((method): Client => ({
    name: `${name}, ${method}`,
    api: orders,
    guard: { rules: ORDERS },
    open: open(method),
    showsNoReason: true,
  })),
)
