// Regular expressions of the file: RE2's syntax, which runs in linear time whatever a request says.
import { RE2JS } from 're2js'

export interface SafePattern {
  /** Whether the pattern is found anywhere in the text. */
  test(text: string): boolean
  /** What the first group found (the whole match in a pattern without groups); undefined where nothing was found. */
  extract(text: string): string | undefined
}

/** Throws an Error that says what RE2 does not take. */
export function compilePattern(source: string): SafePattern {
  const compiled = RE2JS.compile(source)
  return {
    test: (text) => compiled.matcher(text).find(),
    extract: (text) => {
      const matcher = compiled.matcher(text)
      if (!matcher.find()) return undefined
      return matcher.group(matcher.groupCount() > 0 ? 1 : 0) ?? undefined
    },
  }
}

/** What is wrong with it, or undefined. */
export function checkPattern(source: string): { message: string; hint: string } | undefined {
  try {
    compilePattern(source)
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return {
      message: `not a regular expression: ${reason}`,
      hint: 'RE2 syntax: no lookaround, no back references; quote it with single quotes',
    }
  }
}
