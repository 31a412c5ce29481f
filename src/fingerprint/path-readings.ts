// The ways in which servers read one path: decoded or not, with dot segments resolved, without `;` parameters.
import { percentDecode, toAscii } from './percent.ts'

/** Nothing here can be read in two ways: no escape, no empty or dot segment, no backslash, no parameter, no end slash. */
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+,=:@-]+)+$/

export function isPlainPath(path: string): boolean {
  return PLAIN.test(path)
}

/** RFC 3986 section 6.2.2: unreserved characters decoded, escapes in upper case; then slashes collapsed and the last one dropped. */
export function canonicalPath(path: string): string {
  return isPlainPath(path) ? path : tidy(decodable(normalEscapes(targetPath(path))))
}

/** The path with its last slash, for patterns like `/files/*`. */
export function canonicalPathWithSlash(path: string): string {
  return collapse(decodable(normalEscapes(targetPath(path))))
}

/** The path of an absolute-form target (RFC 9112 section 3.2.2) is what follows the authority. */
function targetPath(path: string): string {
  const rest = /^https?:\/\/[^/?#]*(.*)$/is.exec(path)?.[1]
  return rest === undefined ? path : rest === '' ? '/' : rest
}

function normalEscapes(path: string): string {
  return toAscii(path).replace(/%(?:[\da-f]{2})?/gi, (escape) => {
    // A percent sign that begins no escape stands for itself.
    if (escape.length === 1) return '%25'
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase()
  })
}

/** Bytes that are no UTF-8 stand as U+FFFD, so that a router can look at the rest; such a path is never let through a rule. */
function decodable(path: string): string {
  return percentDecode(path) === undefined ? path.replace(/%[89A-F][\dA-F]/g, '%EF%BF%BD') : path
}

function collapse(path: string): string {
  return path.replace(/\/{2,}/g, '/')
}

function tidy(path: string): string {
  const collapsed = collapse(path)
  return collapsed.length > 1 && collapsed.endsWith('/') ? collapsed.slice(0, -1) : collapsed
}

export interface Readings {
  /** What else a server may take the path for. */
  readonly others: readonly string[]
  /** Dot segments, control characters or broken escapes: no honest client sends them. */
  readonly suspicious: boolean
}

/** Every other reading of a path that is not plain. */
export function readings(path: string): Readings {
  const escaped = normalEscapes(targetPath(path))
  const others = new Set<string>()
  for (const text of variants(decodable(escaped))) {
    for (const slashes of [false, true]) {
      for (const backslashes of [false, true]) {
        for (const parameters of [false, true]) {
          for (const reading of resolved(respell(text, { slashes, backslashes, parameters }))) others.add(reading)
        }
      }
    }
  }
  return { others: [...others], suspicious: hasDotSegment(escaped) || isBroken(path, escaped) }
}

/** Some decode twice; some stop at a NUL, a line end, or an encoded `?` or `#` that they decode too early. */
function variants(path: string): string[] {
  const texts = path.includes('%25') ? [path, decodable(normalEscapes(path.replaceAll('%25', '%')))] : [path]
  const end = path.search(/%(?:[01][\dA-F]|7F|3F|23)|#/)
  return end === -1 ? texts : [...texts, path.slice(0, end)]
}

function respell(path: string, read: { slashes: boolean; backslashes: boolean; parameters: boolean }): string {
  let text = path
  if (read.slashes) text = text.replaceAll('%2F', '/')
  if (read.backslashes) text = text.replace(/%5C|\\/g, '/')
  if (read.parameters) text = text.replaceAll('%3B', ';').replace(/;[^/]*/g, '')
  // What is left of escapes is decoded, but for what would be syntax or is no UTF-8.
  return text.replace(/%(?:2[146-9A-E]|3[AD]|40)/g, (escape) => percentDecode(escape) ?? escape)
}

/** Dot segments removed (RFC 3986 section 5.2.4), with empty segments before or after; with and without the last slash. */
function resolved(path: string): string[] {
  const texts = hasDotSegment(path) ? [path, withoutDots(path), withoutDots(collapse(path))] : [path]
  return texts.flatMap((text) => [tidy(text), collapse(text)])
}

function withoutDots(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** In any spelling: `..`, `%2e%2e`, `..%2f`, `..\`, `..;a=b`. The unreserved dots are decoded already. */
function hasDotSegment(path: string): boolean {
  return /(?:^|\/|\\|%2F|%5C)\.{1,2}(?:$|\/|\\|%2F|%5C|;|%3B)/.test(path)
}

function isBroken(path: string, escaped: string): boolean {
  return /%(?![\da-f]{2})/i.test(path) || /%(?:[01][\dA-F]|7F)|#/.test(escaped) || percentDecode(escaped) === undefined
}
