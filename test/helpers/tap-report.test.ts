// The sum that the build relies on: whatever goes wrong in a test file, it counts as a failure.
import { Readable } from 'node:stream'
import t from 'tap'
import { tapReport } from './tap-report.ts'

const END = '# tap ended with 0\n'

async function report(tap: string, files: string[], failedChecks: string[] = []) {
  const lines: string[] = []
  const sum = await tapReport(Readable.from([tap]), { files, failedChecks, print: (line) => lines.push(line) })
  return { sum, text: lines.join('\n'), last: lines.at(-1) }
}

function file(name: string, body: string, closing = 'ok'): string {
  const inner = body.replace(/^(?=.)/gm, '    ')
  return `TAP version 14\n# Subtest: ${name}\n${inner}\n${closing} 1 - ${name} # time=1500ms\n\n1..1\n`
}

t.test('assertions are summed, the points that close subtests are not', async (t) => {
  const nested = '# Subtest: a\n    ok 1 - x\n    ok 2 - y\n    1..2\nok 1 - a\nok 2 - z\n1..2'
  const { sum, text, last } = await report(file('build/test/a.test.js', nested) + END, ['build/test/a.test.js'])
  t.same(sum, { passed: 3, failed: 0 })
  t.match(text, 'ok    test/a.test.ts  3 passed  1.5 s')
  t.equal(last, '3 passed, 0 failed')
})

t.test('what a test has measured is shown though all is well', async (t) => {
  const { text } = await report(
    file('a.test.js', '# Subtest: a\n    # measured: 9 of 9\n    # other\n    ok 1 - x\n    1..1\nok 1 - a\n1..1') + END,
    ['a.test.js'],
  )
  t.match(text, / {6}9 of 9$/m)
  t.notMatch(text, 'other')
})

t.test('a failed assertion is shown whole, under the path of its tests', async (t) => {
  const nested =
    '# Subtest: a\n    not ok 1 - x\n      ---\n      diff: |\n        -1\n        +2\n      ...\n    1..1\nnot ok 1 - a\n1..1\nhello'
  const { sum, text } = await report(file('build/test/a.test.js', nested, 'not ok'), ['build/test/a.test.js'])
  t.same(sum, { passed: 0, failed: 1 })
  t.match(text, /FAIL {2}test\/a\.test\.ts/)
  t.match(text, /not ok: a > x\n +diff: \|\n +-1\n +\+2/)
  t.match(text, 'hello', 'and what the file printed')
})

t.test('a file that fails with every assertion passed has crashed: one failure', async (t) => {
  const { sum } = await report(file('a.test.js', 'ok 1 - x\n1..1', 'not ok') + END, ['a.test.js'])
  t.same(sum, { passed: 1, failed: 1 })
})

t.test('a subtest that fails with every assertion passed is one failure', async (t) => {
  const { sum } = await report(file('a.test.js', '# Subtest: a\n    ok 1 - x\n    1..1\nnot ok 1 - a\n1..1', 'not ok') + END, ['a.test.js'])
  t.same(sum, { passed: 1, failed: 1 })
})

t.test('a file without tests, or with skipped ones only, is a failure', async (t) => {
  t.same((await report(file('a.test.js', '1..0 # no tests found') + END, ['a.test.js'])).sum, { passed: 0, failed: 1 })
  t.same((await report(file('a.test.js', 'ok 1 - x # SKIP no server\n1..1') + END, ['a.test.js'])).sum, { passed: 0, failed: 1 })
})

t.test('a file that was to run and has no result is a failure', async (t) => {
  const { sum, text } = await report(file('a.test.js', 'ok 1 - x\n1..1') + END, ['a.test.js', 'b.test.js'])
  t.same(sum, { passed: 1, failed: 1 })
  t.match(text, 'FAIL  b.test.ts  no result')
})

t.test('tap that says nothing, breaks off or fails by itself is a failure', async (t) => {
  t.same((await report('', ['a.test.js'])).sum, { passed: 0, failed: 1 })
  t.same((await report(file('a.test.js', 'ok 1 - x\n1..1'), ['a.test.js'])).sum, { passed: 1, failed: 1 })
  t.same((await report(`${file('a.test.js', 'ok 1 - x\n1..1')}# tap ended with 1\n`, ['a.test.js'])).sum, { passed: 1, failed: 1 })
})

t.test('a failed check counts, and the tests are summed all the same', async (t) => {
  const { sum, text } = await report(file('a.test.js', 'ok 1 - x\n1..1') + END, ['a.test.js'], ['lint'])
  t.same(sum, { passed: 1, failed: 1 })
  t.match(text, 'FAIL  lint')
})
