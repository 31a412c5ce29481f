// Reads tap's output from standard input, shows it short, and ends with `N passed, N failed`; used by run.sh.
import { tapReport } from './helpers/tap-report.ts'

const failedChecks: string[] = []
const files: string[] = []
for (const argument of process.argv.slice(2)) {
  if (argument.startsWith('--failed=')) failedChecks.push(argument.slice('--failed='.length))
  else files.push(argument)
}

const { passed, failed } = await tapReport(process.stdin, { files, failedChecks, print: (line) => process.stdout.write(`${line}\n`) })
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
