// Turns the TAP of a whole run into one line per file, every failure whole, and a sum that no crash can hide from.
import { Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'

export interface TapReportOptions {
  /** The compiled test files that were to run; one without a result is a failure. */
  readonly files: readonly string[]
  /** Checks outside tap that failed; each counts as one failure. */
  readonly failedChecks?: readonly string[]
  readonly print: (line: string) => void
}

export interface Sum {
  readonly passed: number
  readonly failed: number
}

/** What is known of the file whose lines are being read. */
class FileTally {
  passed = 0
  failed = 0
  skipped = 0
  readonly failures: string[] = []
  /** Comments that begin with `measured:`: numbers that people ask for though all is well. */
  readonly measured: string[] = []
  /** Lines that are not TAP: what the tests and the programs they start print. Shown only where something failed. */
  readonly noise: string[] = []
}

export async function tapReport(input: AsyncIterable<string | Uint8Array>, options: TapReportOptions): Promise<Sum> {
  const { print } = options
  const withoutResult = new Set(options.files)
  const sum = { passed: 0, failed: options.failedChecks?.length ?? 0 }
  let tally = new FileTally()
  let ending = 'its output broke off'

  const parser = new Parser()
  parser.on('child', (file: Parser) => collect(file, [], (tally = new FileTally())))
  parser.on('assert', (result: Result) => {
    // A point of its own is tap's word on a file that it gave up; that file has, or lacks, its own result.
    if (!result.closingTestPoint && !withoutResult.has(result.name)) return
    withoutResult.delete(result.name)
    closeFile(result, tally, print)
    sum.passed += tally.passed
    sum.failed += tally.failed
    tally = new FileTally()
  })
  // The parser hands up what its children could not read.
  parser.on('extra', (line: string) => tally.noise.push(line.trimEnd()))
  parser.on('comment', (comment: string) => {
    const status = /^# tap ended with (\d+)/.exec(comment)?.[1]
    if (status !== undefined) ending = status === '0' ? '' : `it ended with ${status}`
  })
  for await (const chunk of input) parser.write(Buffer.from(chunk))
  parser.end()

  for (const file of withoutResult) print(`FAIL  ${sourceOf(file)}  no result${ending === '' ? '' : `; tap: ${ending}`}`)
  sum.failed += withoutResult.size
  if (ending !== '' && sum.failed === 0) {
    print(`FAIL  tap itself: ${ending}`)
    sum.failed += 1
  }
  for (const check of options.failedChecks ?? []) print(`FAIL  ${check} (see above)`)
  print(`${sum.passed} passed, ${sum.failed} failed`)
  return sum
}

/** Counts the assertions of a test and of its subtests; the point that closes a subtest only repeats them. */
function collect(parser: Parser, path: readonly string[], tally: FileTally): void {
  let failedBefore = tally.failed
  parser.on('comment', (comment: string) => {
    if (comment.startsWith('# measured: ')) tally.measured.push(comment.slice('# measured: '.length).trimEnd())
  })
  parser.on('child', (child: Parser) => {
    failedBefore = tally.failed
    collect(child, [...path, child.name], tally)
  })
  parser.on('assert', (result: Result) => {
    if (result.skip !== false || result.todo !== false) tally.skipped += 1
    else if (result.ok) tally.passed += result.closingTestPoint ? 0 : 1
    // A subtest can fail although each of its assertions passed: a wrong plan, or an exception after them.
    else if (!result.closingTestPoint || tally.failed === failedBefore) {
      tally.failed += 1
      tally.failures.push(describe([...path, result.name].join(' > '), result.diag))
    }
  })
}

function closeFile(result: Result, tally: FileTally, print: (line: string) => void): void {
  if (!result.ok && tally.failed === 0) {
    tally.failed += 1
    const { exitCode = null, signal = null } = result.diag ?? {}
    tally.failures.push(describe('the file itself failed', { exitCode, signal }))
  } else if (result.ok && tally.passed === 0) {
    tally.failed += 1
    tally.failures.push(describe('nothing ran in this file', null))
  }
  const counts = [`${tally.passed} passed`]
  if (tally.failed > 0) counts.push(`${tally.failed} failed`)
  if (tally.skipped > 0) counts.push(`${tally.skipped} skipped`)
  const seconds = ((result.time ?? 0) / 1000).toFixed(1)
  print(`${tally.failed > 0 ? 'FAIL' : 'ok  '}  ${sourceOf(result.name)}  ${counts.join(', ')}  ${seconds} s`)
  for (const line of tally.measured) print(indent(line, 6))
  if (tally.failed === 0) return
  for (const failure of tally.failures) print(failure)
  if (tally.noise.length > 0) print(indent(['printed:', ...tally.noise].join('\n'), 6))
  print('')
}

function describe(name: string, diagnosis: unknown): string {
  const title = indent(`not ok: ${name}`, 6)
  if (diagnosis === null || diagnosis === undefined) return title
  return `${title}\n${indent(stringify(diagnosis, { lineWidth: 0 }).trimEnd(), 8)}`
}

function indent(text: string, columns: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(columns))
}

/** People edit the source, so they read its name: build/test/a.test.js → test/a.test.ts. */
function sourceOf(file: string): string {
  return file.replace(/^build\//, '').replace(/\.js$/, '.ts')
}
