// Every kind of mistake is reported once, at its exact line and column, with advice.
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError, formatMistakes, type Mistake } from '../../src/config/mistakes.ts'

function mistakesOf(text: string, env: Record<string, string> = {}): readonly Mistake[] {
  try {
    loadConfig({ file: 'gate.yaml', text, env })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

/** A case's text holds one `¦` per mistake, right before the place to blame. */
function check(name: string, marked: string, ...expected: { says: RegExp; hint?: RegExp }[]): void {
  t.test(name, async (t) => {
    const places = marked.split('\n').flatMap((line, n) =>
      line
        .split('¦')
        .slice(0, -1)
        .map((_, nth, before) => ({ line: n + 1, column: before.slice(0, nth + 1).join('').length + 1 })),
    )
    const mistakes = mistakesOf(marked.replaceAll('¦', ''))
    t.same(
      mistakes.map(({ line, column }) => ({ line, column })),
      places,
      formatMistakes(mistakes),
    )
    for (const [n, { says, hint }] of expected.entries()) {
      t.match(mistakes[n]?.message, says)
      if (hint !== undefined) t.match(mistakes[n]?.hint, hint)
    }
  })
}

const rule = (body: string): string =>
  `upstream: http://a\nrules:\n  - name: one\n    match: { path: /x }\n    fingerprint: { id: body.id }\n    ${body}\n`
const part = (value: string): string =>
  `upstream: http://a\nrules:\n  - name: one\n    match: { path: '/t/:id/*' }\n    fingerprint: { id: ${value} }\n`

const ask = (path: string, more = ''): string =>
  `upstream: http://a\nrules:\n  - name: one\n    match: { path: /t/:taskId }\n    fingerprint: { id: body.id }\n    onUnknown:\n      ask:\n        path: ${path}\n        executed: [200]\n${more}`

// Tombstones
check('a tombstone without a unit', rule('tombstone: ¦7'), { says: /expected a duration/ })

// Further names
check('a further name from an unknown source', rule('alsoUnique: { id: ¦bdy.id }'), { says: /unknown selector source "bdy"/ })
check('a further name from a parameter that match.path has not', rule('alsoUnique: { id: ¦path.id }'), { says: /no parameter "id"/ })

// Exclusive groups
check('a group by nothing', rule('exclusive: { by: ¦[] }'), { says: /at least|>=1|empty|small/i })
check('a group by a parameter that match.path has not', rule('exclusive: { by: [¦path.task] }'), { says: /no parameter "task"/ })
check('a group by an unknown source', rule('exclusive: { by: [¦bdy.task] }'), { says: /unknown selector source "bdy"/, hint: /body\.task/ })
check('a group by a claim without a jwt section', rule('exclusive: { by: [¦jwt.sub] }'), { says: /no jwt section/ })
check('another word for whenBusy', rule('exclusive: { by: [body.task], whenBusy: ¦queue }'), { says: /refuse/ })
check('an exclusive without by', rule('exclusive: ¦{ whenBusy: wait }'), { says: /"by" is missing/ })

// Asking the upstream
check('a variable that nothing knows', ask("¦'/r/{fingerprnt}'"), { says: /unknown variable "\{fingerprnt\}"/, hint: /"fingerprint"/ })
check('a selector of an unknown source', ask("¦'/r/{header.x}/{bdy.id}'"), { says: /unknown selector source "bdy"/, hint: /body\.id/ })
check('a parameter that match.path has not', ask("¦'/r/{path.taskID}'"), { says: /no parameter "taskID"/, hint: /taskId/ })
check('a claim without a jwt section', ask("¦'/r/{jwt.sub}'"), { says: /no jwt section/ })
check('more than a path can hold', ask("¦'/r/{body}'"), { says: /more than a path can hold/, hint: /\{body\.id\}/ })
check('a variable that does not end', ask("¦'/r/{fingerprint'"), { says: /stands alone/ })
check('a path without its slash', ask("¦'r/{fingerprint}'"), { says: /starts with one \// })
check('a path with a space', ask("¦'/r r/{fingerprint}'"), { says: /character that a path cannot have/ })
check('a status that means both', ask('/r', '        notExecuted: [404, ¦200]\n'), { says: /200 is already in executed/ })
check('an unknown setting of ask', ask('/r', '        ¦notexecuted: [404]\n'), { says: /unknown key/, hint: /notExecuted/ })
check(
  'asking without a word for "it happened"',
  ask('/r').replace('ask:\n', '¦ask:\n').replace('        executed: [200]\n', '').replace('¦ask:\n        ', 'ask:\n        ¦'),
  {
    says: /"executed" is missing/,
  },
)
check('another word for what is done', rule('onUnknown: ¦wait'), { says: /"refuse" or "retry"/ })
check('a breaker that never opens', rule('breaker: { unknown: ¦0 }'), { says: /at least 1/ })
check('a short admin token', 'upstream: http://a\nadminToken: ¦short\n', { says: /at least 16 characters/ })

// Syntax
check('a key that stands twice', 'upstream: http://a\n¦upstream: http://b\n', { says: /stands here twice/ })
check('text that is no YAML', 'upstream: http://a\nlisten: [::1]¦:80\n', { says: /not valid YAML/, hint: /needs quotes/ })
check('a document that is no mapping', '¦- upstream\n', { says: /expected a mapping, got a list/ })
check('an alias without an anchor', 'upstream: http://a\ndefaults: ¦*gone\n', { says: /Unresolved alias/i })
check(
  'an alias bomb',
  `a: &a [${'x,'.repeat(20)}x]\nb: &b [¦*a,${'*a,'.repeat(20)}*a]\nc: &c [${'*b,'.repeat(20)}*b]\nd: [${'*c,'.repeat(20)}*c]\n`.replaceAll(
    '"',
    '',
  ),
  { says: /Excessive alias count/ },
)

check('a text that ends with a colon', 'upstream: http://a\nstore: ¦memory:\n', { says: /not valid YAML/, hint: /ends with a colon/ })

// Keys
check('an unknown key at the top', 'upstream: http://a\n¦lisen: 127.0.0.1:80\n', {
  says: /unknown key "lisen"/,
  hint: /did you mean "listen"\?/,
})
check('an unknown key in a rule', rule('¦onFaild: retry'), { says: /unknown key "onFaild"/, hint: /did you mean "onFailed"\?/ })
check('an unknown key deep inside', rule('inFlight: { ¦maxwait: 3s }'), { says: /unknown key "maxwait"/, hint: /did you mean "maxWait"\?/ })
check('an unknown key of a part', part('{ from: body, ¦optinal: true }'), {
  says: /unknown key "optinal"/,
  hint: /did you mean "optional"\?/,
})
check('a misspelt key is not also a missing one', part('{ ¦form: body }'), { says: /unknown key "form"/, hint: /did you mean "from"\?/ })
check('a key of another level', 'upstream: http://a\n¦ttl: 5m\n', {
  says: /unknown key "ttl"/,
  hint: /belongs in defaults or in rules\[\]/,
})
check('a key of a later version', rule('¦candidate: one'), { says: /unknown key "candidate"/ })
check('a part whose name no schema sees', 'upstream: http://a\nrules:\n  - { name: one, fingerprint: { id: body, ¦__proto__: ip } }\n', {
  says: /cannot have this name/,
})
check(
  'a merged mapping is blamed where it stands',
  `upstream: http://a\ndefaults: { inFlight: &m { ¦stauts: 409 } }\nrules:\n  - name: one\n    fingerprint: { id: body.id }\n    inFlight: { <<: *m }\n`,
  {
    says: /unknown key "stauts"/,
  },
)

// Values
check('a number without a unit', rule('lease: ¦30'), { says: /expected a duration.*got a number/ })
check('a unit that says two things', rule('maxBody: ¦10M'), { says: /expected a size/ })
check('a size without a unit in a union', rule('ttl: ¦1 day'), { says: /expected "forever" or a duration/ })
check('a timer that would fire at once', rule('timeout: ¦25d'), { says: /at most 24d/ })
check('a lease of nothing', rule('lease: ¦0s'), { says: /at least 1ms/ })
check('a word that is none of the choices', rule('onUnknown: ¦retri'), {
  says: /expected "refuse" or "retry"/,
  hint: /did you mean "retry"\?/,
})
check(
  'a method in small letters',
  'upstream: http://a\nrules:\n  - { name: one, match: { methods: [¦post] }, fingerprint: { id: body } }\n',
  { says: /"POST"/, hint: /did you mean "POST"\?/ },
)
check('a status that no client would retry', rule('inFlight: { status: ¦200 }'), { says: /expected 425 or 409/ })
check('a status that does not exist', rule('outcome: { failed: [500, ¦777] }'), { says: /at most 599/ })
check('a status in two lists', rule('outcome: { completed: [409], failed: [¦409] }'), { says: /409 is already in completed/ })
check('a setting left empty', rule('onFailed: ¦'), { says: /expected "retry" or "replay"/ })
check('an upstream with a path', 'upstream: ¦http://a/v1\n', { says: /without a path/ })
check('a path with no slash', 'upstream: http://a\nstatusPath: ¦status\n', { says: /expected a path like/ })
check('no rule in the list', 'upstream: http://a\nrules: ¦[]\n', { says: /at least one rule/ })
check('a rule without a name', 'upstream: http://a\nrules:\n  - ¦fingerprint: { id: body.id }\n', { says: /"name" is missing/ })
check('a rule that is no mapping', 'upstream: http://a\nrules:\n  - ¦one\n', { says: /expected a mapping, got a text/ })
check('an origin that no browser sends', 'upstream: http://a\ncors: { origins: [¦https://app.example/] }\n', { says: /expected an origin/ })
check('a block that is no block', 'upstream: http://a\ntrustProxy: [¦10.0.0.0/40]\n', { says: /expected an address/ })
check('a header that belongs to one connection', rule('replayHeaders: { add: [¦Connection] }'), { says: /never stored/ })

// Selectors
check('an unknown source', part('¦bdy.id'), { says: /unknown selector source "bdy"/, hint: /did you mean "body\.id"\?/ })
check('a claim that nobody verifies', part('¦jwt.sub'), { says: /no jwt section/, hint: /jwks/ })
check('an owner that nobody verifies', rule('owner: [¦jwt.sub, ip]'), { says: /no jwt section/ })
check('a claim deep in a list', part('{ from: [ip, { all: [ip, ¦jwt.sub] }] }'), { says: /no jwt section/ })
check('a join of one', part('{ from: [{ all: ¦[ip] }] }'), { says: /at least/ })
check('a trust over one', part('{ from: [{ select: ip, trust: ¦2 }] }'), { says: /at most 1/ })
check('a verified claim', `jwt: { jwks: https://a/jwks }\n${part('jwt.sub')}`)
check('two keys for tokens', `upstream: http://a\njwt: ¦{ jwks: https://a/jwks, secret: ${'s'.repeat(32)} }\n`, {
  says: /exactly one of jwks/,
})
check('a key file that is not there', 'upstream: http://a\njwt: { publicKeyFile: ¦gone.pem }\n', { says: /no such file/ })
check('keys that are nowhere', 'upstream: http://a\njwt: { jwks: ¦issuer.example }\n', { says: /expected a URL/ })
check('the one wrong source of a list', part('{ from: [body.a, ¦hedder.b] }'), { says: /"hedder"/, hint: /"header\.b"/ })
check('a JSONPath that is none', part("¦'body.items['"), { says: /not a valid JSONPath/ })
check('a part of the wrong type', part('¦5'), { says: /expected a selector or a mapping, got a number/ })
check('an owner that anybody could write', rule('owner: ¦body.user'), { says: /an owner is read from/ })
check('the whole body as an ignored field', rule('digest: [body]\n    digestIgnore: [¦body]'), {
  says: /takes only body\.<path> and query\.<name>/,
})

// Conditions
check('a condition on nothing', rule('match: { where: { ¦bdy.kind: a } }').replace('    match: { path: /x }\n', ''), {
  says: /unknown selector source "bdy"/,
  hint: /did you mean "body\.kind"\?/,
})
check('a condition without a value', rule('match: { where: { body.kind: ¦[] } }').replace('    match: { path: /x }\n', ''), {
  says: /at least one entry/,
})
check(
  'a path that scope: rule leaves out',
  part('path.id').replace('{ id: path.id }', '{ m: method }\n    scope: rule').replace('    fingerprint', '    ¦fingerprint'),
  {
    says: /no varying part/,
  },
)

// Steps
const apply = (steps: string): string => part(`{ from: body.v, apply: [${steps}] }`)
check('a misspelt step', apply('trim, ¦lowr'), { says: /expected "trim" or/, hint: /did you mean "lower"\?/ })
check('a misspelt step with settings', apply('{ ¦regx: a }'), { says: /unknown key "regx"/, hint: /did you mean "regex"\?/ })
check('two steps in one', apply('¦{ regex: a, map: { a: b } }'), { says: /exactly one key/ })
check('a pattern that RE2 does not take', apply("{ regex: ¦'(?=a)' }"), { says: /not a regular expression/, hint: /no lookaround/ })
check('a pattern deep inside', apply("{ match: [{ regex: ¦'(', to: X }] }"), { says: /not a regular expression/ })
check('a zone that is nowhere', apply('{ date: { zone: ¦Asia/Beijing1 } }'), { says: /unknown time zone/ })
check('a date without a zone', apply('{ date: ¦{ precision: day } }'), { says: /"zone" is missing/ })
check('a precision that is none', apply('{ date: { zone: UTC, precision: ¦days } }'), { says: /"day"/, hint: /did you mean "day"\?/ })
check('a member that is no path', apply("{ pick: [¦'a['] }"), { says: /not a path to a member/ })
check('a window without a unit', apply('{ window: ¦60 }'), { says: /expected a duration/ })
check('a plugin that is not there', apply('{ plugin: ¦./gone.mjs }'), { says: /no such file/ })

// Sense
check('a parameter that the path has not', part('¦path.di'), {
  says: /match\.path \/t\/:id\/\* has no parameter "di"/,
  hint: /did you mean "id"\?/,
})
check('a parameter without any path', 'upstream: http://a\nrules:\n  - { name: one, fingerprint: { id: ¦path.id } }\n', {
  says: /no match\.path with a parameter "id"/,
})
check(
  'a parameter that one of the paths has not',
  'upstream: http://a\nrules:\n  - { name: one, match: { path: [/a/:id, /b] }, fingerprint: { id: ¦path.id, b: body.b } }\n',
  { says: /match\.path \/b has no parameter "id"/ },
)
check('a parameter in the digest', rule('digest: [body.a, ¦path.id]'), { says: /no parameter "id"/ })
check('a rule without a fingerprint', 'upstream: http://a\nrules:\n  - ¦name: one\n', { says: /rule "one" has no fingerprint/ })
check(
  'a fingerprint of constants on one path',
  'upstream: http://a\nrules:\n  - { name: one, match: { path: /x }, ¦fingerprint: { a: { value: 1 }, m: method } }\n',
  { says: /no varying part/ },
)
check(
  'a fingerprint of nothing on one path',
  'upstream: http://a\nrules:\n  - { name: one, match: { path: [/x/:id, /y] }, ¦fingerprint: {} }\n',
  { says: /no varying part.*to \/y/ },
)
check("a constant as the client's key", part('body.id, key: ¦{ value: k }'), { says: /cannot be a constant/ })
check(
  'two rules of one name',
  'upstream: http://a\nrules:\n  - { name: one, match: { path: /x }, fingerprint: { id: body } }\n  - { name: ¦one, match: { path: /y }, fingerprint: { id: body } }\n',
  { says: /already named "one"/ },
)
check(
  'a pattern that no router takes',
  "upstream: http://a\nrules:\n  - { name: one, match: { path: ¦'/x/:id(' }, fingerprint: { id: body } }\n",
  { says: /not a route pattern/ },
)
check('a pattern with a query', 'upstream: http://a\nrules:\n  - { name: one, match: { path: ¦/x?a=1 }, fingerprint: { id: body } }\n', {
  says: /ends before \? and #/,
})

const two = (first: string, second: string): string =>
  `upstream: http://a\nrules:\n  - { name: one, match: ${first}, fingerprint: { id: body } }\n  - { name: two, ${second}, fingerprint: { id: body } }\n`
check('the same path again', two('{ path: /x }', '¦match: { path: /x, methods: [POST] }'), { says: /"two" can never match: "one"/ })
check('a path under a parameter', two('{ path: /t/:id }', '¦match: { path: /t/new }'), { says: /can never match/ })
check('a path under a wildcard', two('{ path: /t/* }', '¦match: { path: [/t/:id/x, /t/y] }'), { says: /can never match/ })
check('anything after everything', two('{}', '¦match: { path: /x }'), { says: /can never match/ })
check('a narrower rule first', two('{ path: /t/new }', 'match: { path: /t/:id }'))
check('a rule after one with a condition', two('{ path: /x, where: { body.a: 1 } }', 'match: { path: /x }'))
check('another method', two('{ path: /x, methods: [POST] }', 'match: { path: /x, methods: [POST, PUT] }'))
check('a pattern that takes less than its parameter', two("{ path: '/t/:id(\\\\d+)' }", 'match: { path: /t/:id }'))
check(
  'two rules that together hide a third',
  'upstream: http://a\nrules:\n  - { name: one, match: { methods: [POST] }, fingerprint: { id: body } }\n  - { name: two, match: { methods: [PATCH] }, fingerprint: { id: body } }\n  - { name: three, ¦match: { path: /x }, fingerprint: { id: body } }\n',
  { says: /"one" and "two" before it take/ },
)

// Addresses, stores, files
check('an address without a port', 'upstream: http://a\nlisten: ¦localhost\n', { says: /expected host:port/ })
check('a bare IPv6 address', "upstream: http://a\nlisten: ¦'::1:80'\n", { says: /expected host:port/ })
check('a port over the last', 'upstream: http://a\nlisten: ¦127.0.0.1:70000\n', { says: /expected host:port/ })
check('the same port twice', 'upstream: http://a\nlisten: :8080\nadmin: ¦127.0.0.1:8080\n', { says: /same port/ })
check('an unknown store', 'upstream: http://a\nstore: ¦redsi://h\n', {
  says: /unknown kind of store "redsi:\/\/"/,
  hint: /did you mean "redis:\/\/"\?/,
})
check('an unknown store that is like none', 'upstream: http://a\nstore: ¦mysql://h/db\n', {
  says: /unknown kind of store/,
  hint: /expected lmdb/,
})
check('Sentinel without the name of the master', 'upstream: http://a\nstore: ¦redis+sentinel://h1,h2\n', {
  says: /name by which Sentinel knows the master is missing/,
  hint: /redis\+sentinel:\/\/host1:26379,host2:26379\/name/,
})
check('a cluster with a database', 'upstream: http://a\nstore: ¦redis+cluster://h1,h2/3\n', { says: /hosts only/, hint: /host1:6379/ })
check('replicas of a store that has none to ask', 'upstream: http://a\nreplicasAck: ¦1\n', { says: /only Redis/, hint: /leave it out/ })
check('replicas of PostgreSQL', 'upstream: http://a\nstore: postgres://u@h/d\nreplicasAck: ¦2\n', {
  says: /only Redis/,
  hint: /synchronous_standby_names/,
})
check('what is warned of, where strict is set', 'upstream: http://a\nstrict: true\nstore: ¦memory\nadmin: ¦0.0.0.0:9080\n', {
  says: /lost at a restart.*strict/,
})
check('a misspelt PostgreSQL', 'upstream: http://a\nstore: ¦postgress://h/db\n', {
  says: /unknown kind of store/,
  hint: /did you mean "postgres:/,
})
check('a PostgreSQL address that is none', 'upstream: http://a\nstore: ¦postgres://h:x/db\n', { says: /not a valid URL/, hint: /5432/ })
check('a PostgreSQL address', "upstream: http://a\nstore: 'postgresql://u:p@h/db?schema=s&connections=4'\n")
check('a PostgreSQL socket', "upstream: http://a\nstore: 'postgres:///db?host=/run/postgresql'\n")
check('an LMDB store that may grow to a size', "upstream: http://a\nstore: 'lmdb:./data?maxSize=4GiB'\n")
check('an LMDB size without a unit', 'upstream: http://a\nstore: ¦lmdb:./data?maxSize=4\n', {
  says: /maxSize is a size/,
  hint: /maxSize=4GiB/,
})
check('an LMDB size that holds nothing', 'upstream: http://a\nstore: ¦lmdb:./data?maxSize=4KiB\n', { says: /at least 1MiB/ })
check('an LMDB option that is none', 'upstream: http://a\nstore: ¦lmdb:./data?max=4GiB\n', { says: /no "max"/ })
check('a spool with a size that has no unit', 'upstream: http://a\nspool: { folder: ./s, maxSize: ¦4 }\n', { says: /expected a size/ })
check('a store without its kind', 'upstream: http://a\nstore: ¦memry\n', {
  says: /starts with its kind/,
  hint: /did you mean "memory"\?/,
})
check(
  'certificates that are not there',
  'upstream: http://a\ntls: { cert: ¦./no.pem, key: ¦./none.pem }\n',
  { says: /no such file/ },
  { says: /no such file/ },
)
check('no upstream', '¦listen: 127.0.0.1:1\n', { says: /"upstream" is missing/, hint: /--upstream/ })

check(
  'all mistakes at once, in the order of the file',
  'listen: ¦nowhere\nupstream: http://a\n¦colour: red\nrules:\n  - name: one\n    match: { path: ¦nope }\n    ttl: ¦soon\n    fingerprint: { a: ¦path.z, b: ¦bdy }\n'.replace(
    '¦path.z',
    'ip',
  ),
)

check('a mapping where a text was meant', rule('completeOn: ¦{ a: b }'), { says: /expected a text/ })
check('a text of two lines', rule('completeOn: ¦"a\\nb"'), { says: /without a line break/ })
check('an empty text', rule("completeOn: ¦''"), { says: /not empty/ })
check('a heartbeat without a unit', rule('heartbeat: ¦15'), { says: /expected a duration/ })

t.test('passwords are not repeated', async (t) => {
  const text = 'upstream: http://a\nstore: "redsi://u:hunter2@h"\nsecret: [hunter2]\n'
  const mistakes = mistakesOf(text)
  t.equal(mistakes.length, 2)
  t.notMatch(formatMistakes(mistakes, text), /hunter2/)
})

t.test('a mistake is shown as file:line:column with the line and a hint', async (t) => {
  const text = 'upstream: http://a\nlisen: x\n'
  t.equal(
    formatMistakes(mistakesOf(text), text),
    'gate.yaml:2:1: lisen: unknown key "lisen"\n    lisen: x\n    ^\n    hint: did you mean "listen"?',
  )
})

const windows = (count: number, marked: string): string =>
  `upstream: http://a\nrules:\n  - name: one\n    match: { path: /x }\n    fingerprint:\n${Array.from(
    { length: count },
    (_, n) => `      ${n === 2 ? marked : ''}t${n}: { from: body.t${n}, apply: [trim, { window: 1m }] }\n`,
  ).join('')}`
check('three windows in one fingerprint', windows(3, '¦'), { says: /2 parts with a window/ })
check('two windows in one fingerprint', windows(2, ''))
