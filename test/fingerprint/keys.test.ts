import fc from 'fast-check'
import t from 'tap'
import { deriveKeys, groupName, isIssued, issue, issueAmong } from '../../src/fingerprint/keys.ts'
import { groupOf } from '../../src/model/group.ts'
import { homeOf } from '../../src/model/home.ts'
import { halfSipHash } from '../../src/fingerprint/short-hash.ts'

const keys = deriveKeys('one')

t.test('a fingerprint is 44 characters that only this deployment can issue', async (t) => {
  const fingerprint = issue('s1:a', keys).fingerprint
  t.match(fingerprint, /^[A-Za-z0-9_-]{44}$/)
  t.equal(issue('s1:a', keys).fingerprint, fingerprint)
  t.ok(isIssued(fingerprint, keys))
  t.notOk(isIssued(fingerprint, deriveKeys('two')))
  t.not(issue('s1:a', deriveKeys('two')).fingerprint, fingerprint)
})

t.test('names of one fact begin like what they have in common, differ in the rest, and are issued', async (t) => {
  const common = issue('s1:a', keys)
  const names = ['s1:b', 's1:c'].map((text) => issueAmong(text, common, keys))
  t.equal(new Set(names.map(homeOf)).size, 1)
  t.equal(homeOf(names[0]!), homeOf(common.fingerprint))
  t.equal(new Set(names.map((name) => name.slice(8, 32))).size, 2)
  for (const name of names) t.ok(isIssued(name, keys))
})

t.test('a fact of a group has its name behind that of the group, and cannot change it', async (t) => {
  const [one, two] = [groupName('l1:n1;', keys), groupName('l1:n2;', keys)]
  t.not(one, two)
  const fingerprint = issue('s1:a', keys, { group: one }).fingerprint
  t.equal(fingerprint.length, 64)
  t.equal(groupOf(fingerprint), one)
  t.equal(groupOf(issue('s1:a', keys).fingerprint), undefined)
  t.ok(isIssued(fingerprint, keys))
  t.notOk(isIssued(two + fingerprint.slice(one.length), keys))
  t.notOk(isIssued(fingerprint.slice(one.length), keys))
  const among = issueAmong('s1:b', issue('s1:a', keys, { group: one }), keys)
  t.ok(isIssued(among, keys))
  t.equal(groupOf(among), one)
  t.notOk(isIssued(one + issue('s1:a', keys).fingerprint, keys))
})

t.test('any changed character makes it a forgery', async (t) => {
  const fingerprint = issue('s1:a', keys).fingerprint
  for (let at = 0; at < fingerprint.length; at++) {
    const other = fingerprint[at] === 'A' ? 'B' : 'A'
    t.notOk(isIssued(fingerprint.slice(0, at) + other + fingerprint.slice(at + 1), keys))
  }
  fc.assert(fc.property(fc.string(), (text) => !isIssued(text, keys)))
  for (const text of ['', fingerprint.slice(1), `${fingerprint}A`, `${fingerprint}\n`, '\u00e9'.repeat(44)]) t.notOk(isIssued(text, keys))
})

t.test('the keys for different purposes differ', async (t) => {
  t.equal(new Set(Object.values(keys)).size, 7)
  for (const key of Object.values(keys)) t.match(key, /^[0-9a-f]{64}$/)
})

t.test('the short hash is HalfSipHash-2-4', async (t) => {
  const key = Buffer.from('0001020304050607', 'hex')
  const vectors = ['a9359f5b', '27475ab8', 'fa62a603', '8afee704', '2a6e4689', 'c5fab669', '5863fc23', '8bcf63c5', 'd0b8848f']
  for (const [length, expected] of vectors.entries()) {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(halfSipHash(key, Buffer.from(Array.from({ length }, (_, n) => n)).toString('latin1')))
    t.equal(bytes.toString('hex'), expected)
  }
})

t.test('wide characters change the short hash wherever they stand', async () => {
  const key = Buffer.from('0001020304050607', 'hex')
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 9 }), fc.nat(8), (text, at) => {
      const index = at % text.length
      const changed = text.slice(0, index) + String.fromCharCode(text.charCodeAt(index) ^ 0x100) + text.slice(index + 1)
      return halfSipHash(key, text) !== halfSipHash(key, changed)
    }),
  )
})
