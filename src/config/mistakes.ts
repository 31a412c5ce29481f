// What is wrong in a configuration, where, and what was probably meant.

/** Keys and indexes from the top of the file. */
export type Place = readonly (string | number)[]

/** What a check found, by its place in the document. */
export interface Finding {
  readonly place: Place
  /** Whether the key itself is wrong, or what it holds. */
  readonly at: 'key' | 'value'
  readonly message: string
  readonly hint?: string | undefined
}

/** A finding as people meet it. */
export interface Mistake {
  /** The file as it was given, or the flag; undefined where no file was read. */
  readonly file: string | undefined
  /** From 1; undefined where no line is to blame. */
  readonly line: number | undefined
  readonly column: number | undefined
  /** Like `rules[2].fingerprint.object`. */
  readonly path: string
  readonly message: string
  readonly hint: string | undefined
}

/** What was read, by file; a text alone is that of every mistake. */
export type SourceTexts = string | ReadonlyMap<string | undefined, string>

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly Mistake[]
  /** For the code frames. */
  readonly text: SourceTexts

  constructor(mistakes: readonly Mistake[], text: SourceTexts) {
    super(formatMistakes(mistakes))
    this.mistakes = mistakes
    this.text = text
  }
}

export function showPlace(place: Place): string {
  return place.map((step, n) => (typeof step === 'number' ? `[${step}]` : n === 0 ? step : `.${step}`)).join('')
}

/** `file:line:column: message`, the hint below it; with the file's text also the line itself. */
export function formatMistakes(mistakes: readonly Mistake[], text: SourceTexts = ''): string {
  return mistakes
    .map((mistake) => {
      const parts = [`${where(mistake)}${mistake.message}`, ...frame(mistake, typeof text === 'string' ? text : text.get(mistake.file))]
      if (mistake.hint !== undefined) parts.push(`    hint: ${mistake.hint}`)
      return parts.join('\n')
    })
    .join('\n')
}

function where({ file, line, column, path }: Mistake): string {
  if (line !== undefined && column !== undefined) return `${file ?? 'config'}:${line}:${column}: ${path === '' ? '' : `${path}: `}`
  return file === undefined ? '' : `${file}: `
}

function frame({ line, column, path }: Mistake, text: string | undefined): string[] {
  // These may hold passwords, and mistakes end up in logs.
  if (path === 'secret' || path === 'adminToken' || path === 'store' || path.startsWith('jwt')) return []
  const source = line === undefined ? undefined : text?.split(/\r?\n/)[line - 1]
  if (source === undefined || source.trim() === '' || source.length > 160 || column === undefined) return []
  return [`    ${source.replaceAll('\t', ' ')}`, `    ${' '.repeat(column - 1)}^`]
}
