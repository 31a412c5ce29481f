// Addresses to listen on and to trust, as people write them.
import { isIP, isIPv4, isIPv6 } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

export const ADDRESS_EXPECTED = 'expected host:port, [ipv6]:port, :port (every interface) or a port (this machine only)'

const EVERYWHERE: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
const HOST_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/

/** Undefined where the text is no address. A port alone stays on this machine, as the default does; `:port` opens it to all. */
export function parseAddress(text: string | number): Address | undefined {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]*)\]|([^:[\]]*)):)?(\d{1,5})$/.exec(String(text)) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535) return undefined
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined
  if (plain === undefined) return { host: '127.0.0.1', port }
  if (plain === '') return { host: '0.0.0.0', port }
  const looksNumeric = /^[\d.]+$/.test(plain)
  return (looksNumeric ? isIPv4(plain) : HOST_NAME.test(plain)) ? { host: plain, port } : undefined
}

/** Whether listening on both cannot work: the same port, and the same host or one that means every interface. */
export function addressesCollide(one: Address, other: Address): boolean {
  if (one.port !== other.port || one.port === 0) return false
  return one.host === other.host || EVERYWHERE.has(one.host) || EVERYWHERE.has(other.host)
}

/** An address, a block of them (`10.0.0.0/8`), or one of the names that Fastify knows. */
export function isTrustedBlock(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && (bits === undefined || Number(bits) <= (family === 4 ? 32 : 128))
}
