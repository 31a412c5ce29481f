// Reads a gateway's measures as Prometheus would.
import { send } from './client.ts'

export interface Scraped {
  readonly text: string
  readonly contentType: string
  /** Every series: its name with its labels in order, as `oncegate_in_flight{rule="pay"}`. */
  readonly series: ReadonlyMap<string, number>
  /** The sum over all series of that name with these labels; fails where there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number
}

export async function scrape({ adminUrl }: { readonly adminUrl: string }): Promise<Scraped> {
  const { status, headers, text } = await send(`${adminUrl}/metrics`, { method: 'GET' })
  if (status !== 200) throw new Error(`/metrics answered ${status}`)
  const series = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, number] = /^(.*) (\S+)$/.exec(line) ?? []
    if (name === undefined || series.has(name)) throw new Error(`not a series, or one twice: ${line}`)
    series.set(name, Number(number))
  }
  const value: Scraped['value'] = (name, labels = {}) => {
    const wanted = Object.entries(labels).map(([label, is]) => `${label}=${JSON.stringify(is)}`)
    const found = [...series].filter(
      ([one]) => one.replace(/\{.*/, '') === name && wanted.every((label) => one.includes(`{${label}`) || one.includes(`,${label}`)),
    )
    if (found.length === 0) throw new Error(`no series ${name} with ${wanted.join()}`)
    return found.reduce((sum, [, number]) => sum + number, 0)
  }
  return { text, contentType: String(headers['content-type']), series, value }
}
