#!/usr/bin/env node
// The command line; one file per command in cli/.
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { check } from './cli/check.ts'
import { demo } from './cli/demo.ts'
import { explain } from './cli/explain.ts'
import { type RecordsOptions, records, withFingerprintLast } from './cli/records.ts'
import { start } from './cli/start.ts'

const version = (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version

const program = new Command('oncegate')
  .description('An HTTP reverse proxy that makes the APIs behind it happen once.')
  .version(version, '--version')
  .helpOption('--help', 'show help')
  .exitOverride()
  .configureHelp({ showGlobalOptions: true })

program
  .command('start')
  .description('start the gateway; without an upstream, in front of the bundled demo agent')
  .option('--config <file>', 'configuration file (YAML); without one, POST and PATCH with an Idempotency-Key are guarded')
  .option('--upstream <url>', 'the API to guard, as http://host:port (also: UPSTREAM in the environment)')
  .option('--listen <address>', 'where clients connect, host:port')
  .option('--admin <address>', 'where health is served, host:port')
  .option(
    '--store <url>',
    'where records live: lmdb:<folder>, redis://host:port (redis+sentinel://, redis+cluster://), postgres://user@host/database, memory:',
  )
  .action(async (options) => void (process.exitCode = await start(options)))

program
  .command('check')
  .description('check a configuration file and show every mistake')
  .argument('<file>', 'configuration file (YAML)')
  .action((file: string) => void (process.exitCode = check(file, process.env, process.stdout)))

program
  .command('explain')
  .description(
    'show how a request would be identified: its rule, parts, owner, fingerprint and digest; or, with --against and --requests, ' +
      'which recorded requests another version of the rules treats otherwise; nothing is sent',
  )
  .argument('[url]', 'URL or path of the request')
  .requiredOption('--config <file>', 'configuration file (YAML)')
  .option('-X, --request <method>', 'method (default: POST with a body, else GET)')
  .option('-H, --header <line>', "header, 'Name: value'; once for each", (line: string, lines: string[]) => [...lines, line], [])
  .option('-d, --data <body>', 'body, or @file')
  .option('--ip <address>', "the client's address", '127.0.0.1')
  .option('--raw <file>', 'a file with one request as it stands on the wire (RFC 9112), instead of URL and flags')
  .option('--against <file>', 'configuration file to compare with: the rules as they were')
  .option(
    '--requests <file>',
    'recorded requests to compare over, in JSON Lines: ' +
      '{"method":"POST","url":"/path","headers":{"Name":"value"},"body":"text"} a line; also bodyBase64, ip, time, claims',
  )
  .option('--json', 'as JSON')
  .action(
    async (url: string | undefined, options) =>
      void (process.exitCode = await explain(url, options, { env: process.env, out: process.stdout, err: process.stderr })),
  )

program
  .command('records')
  .description(
    'list records, show one, find one by its request or key; say what became of one whose outcome is unknown: release (it has not ' +
      'happened), complete (it has) or fail; or purge: forget it',
  )
  .argument('<action>', 'list, show, find, release, complete, fail or purge')
  .argument('[fingerprint]', 'the fingerprint: Idempotency-Fingerprint of any of its responses; not with list and find')
  .option('--admin <url>', 'the admin port of a gateway', 'http://127.0.0.1:9080')
  .option('--token <token>', 'its adminToken (also: ONCEGATE_ADMIN_TOKEN in the environment)')
  .option('--status <status>', 'complete, fail: status of the result that is given; list, purge: which records, unknown,failed')
  .option(
    '-H, --header <line>',
    "header of the result, or of the request to find, 'Name: value'; once for each",
    (line: string, lines: string[]) => [...lines, line],
    [],
  )
  .option('-d, --data <body>', 'body of it, or @file')
  .option('--reason <text>', 'why, for the audit log')
  .option('--rule <name>', 'list, purge, find: of this rule')
  .option('--owner <tag>', 'list, purge: of this owner, by the tag that show tells')
  .option('--since <time>', 'list, purge: last changed at this time or later; 2h: so long ago')
  .option('--until <time>', 'list, purge: last changed before this time')
  .option('--limit <number>', 'list: at most so many', '50')
  .option('--cursor <cursor>', 'list, purge: where the list before has ended')
  .option('--dry-run', 'purge: count, and remove nothing')
  .option('--key <key>', "find: the client's own key")
  .option('-X, --request <method>', 'find: method of the request')
  .option('--url <url>', 'find: URL or path of the request')
  .option('--json', 'as JSON')
  .action(
    async (action: string, fingerprint: string | undefined, options: RecordsOptions) =>
      void (process.exitCode = await records(action, fingerprint, options, { env: process.env, out: process.stdout, err: process.stderr })),
  )

program
  .command('demo')
  .description('run the demo agent alone: a slow, streaming, counting API')
  .option('--listen <address>', 'host:port', '127.0.0.1:3000')
  .action(async (options) => void (process.exitCode = await demo(options)))

try {
  await program.parseAsync(withFingerprintLast(process.argv))
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Help and version end well; everything else commander reports is bad usage.
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
