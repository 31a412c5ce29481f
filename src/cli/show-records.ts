// Records as people read them: a table of many, one line by line with its timeline, and what was refused.

type Document = Readonly<Record<string, unknown>>

export function showProblem({ title, detail }: Document): string {
  return `${shownText(title)}: ${shownText(detail)}\n`
}

/** Line by line; then what has happened to it. */
export function showRecord(document: Document): string {
  const { timeline, ...members } = document
  const entries = Object.entries(members)
  const width = Math.max(...entries.map(([name]) => name.length))
  const lines = entries.map(([name, value]) => `${name.padEnd(width)}  ${shownText(value)}\n`)
  const steps = Array.isArray(timeline) ? (timeline as Document[]) : []
  return lines.join('') + (steps.length === 0 ? '' : `\n${rows(steps.map(stepRow))}`)
}

function stepRow({ at, from, to, attempt, by, reason }: Document): string[] {
  const change = from === undefined ? `→ ${shownText(to)}` : `${shownText(from)} → ${shownText(to)}`
  const who = by === 'operator' ? 'by an operator' : ''
  return [shownText(at), change, attempt === undefined ? '' : `attempt ${shownText(attempt)}`, who, shownText(reason)]
}

const COLUMNS: readonly [title: string, member: string][] = [
  ['status', 'status'],
  ['rule', 'rule'],
  ['attempt', 'attempt'],
  ['duplicates', 'duplicates'],
  ['http', 'http_status'],
  ['changed', 'last_updated_at'],
  ['fingerprint', 'fingerprint'],
]

export function showTable(records: readonly object[]): string {
  if (records.length === 0) return 'No such records.\n'
  const cells = records.map((record) => COLUMNS.map(([, member]) => shownText((record as Document)[member])))
  return rows([COLUMNS.map(([title]) => title), ...cells])
}

/** How the request is identified, and the records that there are of it. */
export function showFound({ rule, outcome, reason, problem, fingerprint, records }: Document): string {
  const refused = problem === undefined ? reason : (problem as Document)['detail']
  const head = [
    ['rule', shownText(rule ?? 'none')],
    [
      'outcome',
      [outcome, refused]
        .filter((text) => text !== undefined)
        .map(shownText)
        .join(': '),
    ],
    ...(fingerprint === null ? [] : [['fingerprint', shownText(fingerprint)]]),
  ]
  const found = Array.isArray(records) ? (records as object[]) : []
  return `${rows(head)}\n${fingerprint === null ? '' : showTable(found)}`
}

/** In columns; what would make a terminal do something is written so that it does not. */
function rows(cells: readonly (readonly string[])[]): string {
  const widths = cells[0]!.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function shownText(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (control) => JSON.stringify(control).slice(1, -1))
}
