/**
 * Errors of the whole range: Prometheus 3.5 fails where two series of equal labels lie anywhere in the range, also
 * where they never meet. An answer joined from parts that succeeded must not stand in for that error.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiClient } from './client.ts'
import { compareAnswers } from './compare.ts'
import { atHour } from './forms/instants.ts'
import { wholeRangeForms } from './forms/special.ts'
import { startDatabase } from './setup.ts'
import type { Ask } from './spelling.ts'
import { startUnderTest } from './under-test.ts'

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
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const proxy = await startUnderTest(prometheus.url)
  t.after(() => proxy.close())
  const [direct, proxied] = [new ApiClient(prometheus.url, 1), new ApiClient(proxy.url, 1)]
  t.after(() => Promise.all([direct.close(), proxied.close()]))

  for (const { query } of wholeRangeForms) {
    await t.test(query, async () => {
      for (const request of [...parts.map(([from, to]) => ask(query, from, to)), ask(query, 0, 24)]) {
        const [expected, got] = [await direct.queryRange(request), await proxied.queryRange(request)]
        assert.equal(compareAnswers(expected, got), undefined, got.headers['cache-status'])
      }
    })
  }
})
