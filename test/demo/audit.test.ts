/** The audit finds every wrong answer, and nothing else. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Auditor, type AuditResult, type Served } from '../../src/demo/audit.ts'
import { DemoDatabase } from '../../src/demo/database.ts'
import { printMatrix } from '../../src/demo/print.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'

const now = Date.UTC(2026, 0, 15, 12)
const database = new DemoDatabase({ clock: fakeClock(now) })
const auditor = new Auditor(database, ladder())

/** The truth at `fetchedAt`, served `lagMs` later. */
function serve(fetchedAt: number, lagMs: number): Served {
  const end = Math.floor(fetchedAt / 15_000) * 15_000
  const question = {
    ...{ query: 'sum by (job) (rate(http_requests_total[1m]))', stepMs: 15_000 },
    ...{ start: end - 600_000, end },
  }
  const body = printMatrix(database.truth(question, fetchedAt)!)
  return { question, body, sentAt: fetchedAt + lagMs, receivedAt: fetchedAt + lagMs }
}

function judgeMany(lagMs: number): AuditResult[] {
  return Array.from({ length: 60 }, (_, i) => auditor.judge(serve(now + i * 7_000, lagMs)))
}

test('the truth itself is never out of date', () => {
  for (const { points, outdated, violations } of judgeMany(0)) {
    assert.ok(points > 100)
    assert.deepEqual([outdated, violations], [[], []])
  }
})

test('within the floor some points are out of date, by no more than they are old, and that is allowed', () => {
  const verdicts = judgeMany(4_999)
  const ages = verdicts.flatMap(({ outdated }) => outdated.map(({ ageMs }) => ageMs))
  assert.ok(ages.length > 10, `${ages.length}`)
  assert.ok(ages.every((age) => age >= 0 && age < 4_999))
  assert.deepEqual(
    verdicts.flatMap(({ violations }) => violations),
    [],
  )
})

test('a value served beyond its TTL is found', () => {
  const violations = judgeMany(30_000).flatMap((verdict) => verdict.violations)
  assert.ok(violations.length > 10, `${violations.length}`)
  assert.match(violations[0]!, /was served \d+ ms beyond its TTL/)
})

test('a value that was never true is found', () => {
  const served = serve(now, 0)
  const wrong = auditor.judge({ ...served, body: served.body.replace(/"(\d+)\.(\d)/, '"$1.9$2') })
  assert.equal(wrong.outdated.length, 1)
  assert.match(wrong.violations[0]!, /was never true/)
})
