// The deployment's keys, and the fingerprints that only it can issue.
import { hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { GROUP_CHARS, groupOf } from '../model/group.ts'
import { movedHome } from '../model/home.ts'

declare global {
  // ES2024, in every Node from 20 on.
  interface String {
    isWellFormed(): boolean
  }
}

/** One key per purpose, so that no output of one can stand for another. */
export interface FingerprintKeys {
  readonly id: string
  readonly mac: string
  readonly digest: string
  readonly field: string
  readonly owner: string
  readonly group: string
  readonly name: string
}

/** A fingerprint, and 64 bits of the same hash that never leave the process: the key for this record's field hashes. */
export interface Issued {
  readonly fingerprint: string
  readonly recordKey: Buffer
}

/** Where a fact belongs: what its name begins with, beyond its own. */
export interface Place {
  readonly group?: string | undefined
  /** A name that is at home where this one is to be. */
  readonly home?: string | undefined
}

const ID_CHARS = 32
const MAC_CHARS = 12
const FORMAT = /^(?:[A-Za-z0-9_-]{20})?[A-Za-z0-9_-]{44}$/

/** Separates the secret into one key per purpose (RFC 5869). */
export function deriveKeys(secret: string): FingerprintKeys {
  // 64 ASCII characters: exactly one block of SHA-256, so the key is a block of its own before the message.
  const key = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `oncegate ${purpose}`, 32)).toString('hex')
  return {
    id: key('id'),
    mac: key('mac'),
    digest: key('digest'),
    field: key('field'),
    owner: key('owner'),
    group: key('group'),
    name: key('name'),
  }
}

/**
 * SHA-256 over key and message in one call, a quarter of what an HMAC object costs.
 * Sound as a PRF because every message here is self-delimiting (no message is the beginning of another: Bellare, Canetti and
 * Krawczyk 1996, "cascade"), and what is published is cut short, so that nobody can extend a message he does not know.
 */
export function keyedHash(key: string, message: string): string {
  return hash('sha256', key + (message.isWellFormed() ? message : escaped(message)), 'base64url')
}

/** In UTF-8 every lone surrogate would become the same U+FFFD. No canonical text begins with `u`. */
function escaped(message: string): string {
  return `u${message.length}:${Buffer.from(message, 'utf16le').toString('base64')}`
}

/** 24 bytes of keyed hash name the fact, behind its group where it has one; 9 bytes of MAC over them show that this deployment issued the name. */
export function issue(canonical: string, keys: FingerprintKeys, { group, home }: Place = {}): Issued {
  const full = keyedHash(keys.id, canonical)
  const own = full.slice(0, ID_CHARS)
  const id = group !== undefined ? group + own : home === undefined ? own : movedHome(own, home)
  return { fingerprint: id + macOf(id, keys), recordKey: Buffer.from(full.slice(ID_CHARS), 'base64url') }
}

/** A name of a fact that has several, which all begin like the name of what they have in common. */
export function issueAmong(canonical: string, common: Issued, keys: FingerprintKeys): string {
  const own = keyedHash(keys.id, canonical).slice(0, ID_CHARS)
  const group = groupOf(common.fingerprint)
  const id = group === undefined ? movedHome(own, common.fingerprint) : group + own
  return id + macOf(id, keys)
}

/** The name of a group of facts (model/group.ts). */
export function groupName(canonical: string, keys: FingerprintKeys): string {
  return keyedHash(keys.group, canonical).slice(0, GROUP_CHARS)
}

/** A name of no group, at home where another is. */
export function issueBeside(canonical: string, other: string, keys: FingerprintKeys): string {
  const id = movedHome(keyedHash(keys.id, canonical).slice(0, ID_CHARS), other)
  return id + macOf(id, keys)
}

/** Whether this deployment issued it, told without the store and without telling how much of a forgery was right. */
export function isIssued(fingerprint: string, keys: FingerprintKeys): boolean {
  if (!FORMAT.test(fingerprint)) return false
  const expected = macOf(fingerprint.slice(0, -MAC_CHARS), keys)
  return timingSafeEqual(Buffer.from(fingerprint.slice(-MAC_CHARS), 'latin1'), Buffer.from(expected, 'latin1'))
}

function macOf(id: string, keys: FingerprintKeys): string {
  // No id holds a full stop: none is the beginning of another with a group.
  return keyedHash(keys.mac, id.length === ID_CHARS ? id : `.${id}`).slice(0, MAC_CHARS)
}
