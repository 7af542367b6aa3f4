/**
 * Errors of the whole range: Prometheus 3.5 fails where two series of equal labels lie anywhere in the range, also
 * where they never meet. An answer joined from parts that succeeded must not stand in for that error.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareAnswers } from './compare.ts'
import { atHour } from './forms/instants.ts'
import { relabelled, wholeRangeForms } from './forms/special.ts'
import { isAtLeast } from './queries.ts'
import { startBoth } from './setup.ts'
import type { Ask } from './spelling.ts'

const step = 1 / 6
/** Hours between which no series takes the place of another (build_info changes at 8, 10 and 12 h). */
const parts = [
  [0, 8 - step],
  [8, 10 - step],
  [10, 12 - step],
  [12, 24],
] as const

function ask(query: string, fromHour: number, toHour: number): Ask {
  const search = [
    ['query', query],
    ['start', String(atHour(fromHour))],
    ['end', String(atHour(toHour))],
    ['step', String(step * 3600)],
  ] as const
  return { method: 'GET', search, form: [] }
}

test('parts that succeed do not hide an error of the whole', async (t) => {
  const clients = await startBoth(t)
  if (clients === null) return
  const { direct, proxied } = clients

  for (const { query } of wholeRangeForms) {
    await t.test(query, async () => {
      for (const request of [...parts.map(([from, to]) => ask(query, from, to)), ask(query, 0, 24)]) {
        const [expected, got] = [await direct.queryRange(request), await proxied.queryRange(request)]
        assert.equal(compareAnswers(expected, got), undefined, got.headers['cache-status'])
      }
    })
  }
})

test('with assume.mergedLabels label functions are answered from parts, and Cache-Status says so', async (t) => {
  const clients = await startBoth(t, { assume: { mergedLabels: true } })
  if (clients === null) return
  const { direct, proxied } = clients
  const isNeeded = !isAtLeast(clients.version, [3, 9])

  for (const { query } of relabelled) {
    await t.test(query, async () => {
      for (const [hours, outcome] of [
        [12, 'miss'],
        [24, 'partial'],
        [24, 'hit'],
      ] as const) {
        const request = ask(query, 0, hours)
        const [expected, got] = [await direct.queryRange(request), await proxied.queryRange(request)]
        const status = String(got.headers['cache-status'])
        assert.equal(compareAnswers(expected, got), undefined, status)
        assert.match(status, new RegExp(`detail="${outcome}`))
        assert.equal(status.includes('exceptions=assume.mergedLabels'), isNeeded, status)
      }
    })
  }

  await t.test('series that never meet become one, as 3.9 has them', async () => {
    const query = 'label_replace(build_info, "version", "any", "", "")'
    for (const [from, to] of parts) await proxied.queryRange(ask(query, from, to))
    const whole = await proxied.queryRange(ask(query, 0, 24))
    assert.equal(whole.status, 200)
    assert.match(String(whole.headers['cache-status']), /detail="hit/)
    const { result } = (JSON.parse(whole.body.toString()) as Matrix).data
    const labels = result.map(({ metric }) => JSON.stringify(metric))
    assert.deepEqual(labels, [...new Set(labels)])
  })
})

interface Matrix {
  readonly data: { readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[] }
}
