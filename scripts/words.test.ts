import assert from 'node:assert/strict'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { brokenRules, count, proseOf } from './words.ts'

/** The most lines that may break a word rule, in percent of all. Lower a limit after a rewrite; never raise one. */
const most = { comments: 2, texts: 2, docs: 4 }

const breaking = [
  'Who has an answer and asks again finds it stored.',
  'What the policy says',
  'believed for 5 s',
  'Above, the entry that was asked for least leaves',
  'nobody reads it',
  'those that were throttled are sent again',
]
for (const line of breaking)
  test(`breaks a word rule: ${line}`, () => assert.notEqual(brokenRules(line).length, 0))

const plain = [
  'Clients who share a partition share entries.',
  'What to change.',
  'Beyond this limit the least-used entries are evicted.',
  'Leaves the row unchanged.',
]
for (const line of plain) test(`breaks no word rule: ${line}`, () => assert.deepEqual(brokenRules(line), []))

test('few lines break a word rule', () => {
  const counted = count(proseOf(fileURLToPath(new URL('..', import.meta.url))))
  for (const kind of ['comments', 'texts', 'docs'] as const) {
    const { lines, broken } = counted[kind]
    const shown = `${kind}: ${broken} of ${lines}, at most ${most[kind]} %: npm run words -- --list src shows them`
    assert.ok(broken <= (most[kind] / 100) * lines, shown)
  }
})
