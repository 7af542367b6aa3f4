/** Forms that dashboards have and other caches pass on: the database's own bytes, and a hit at the second look, form by form. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareAnswers } from '../fidelity/compare.ts'
import { atHour } from '../fidelity/forms/instants.ts'
import { aheadOfTheirSteps, newlyLabelled, returns, sorted } from '../fidelity/forms/special.ts'
import { startBoth } from '../fidelity/setup.ts'

const stepSeconds = 300

/** Hours and outcomes: a first look, a longer one, the same again, the last step alone, and one step more. */
const looks = [
  [0, 6, 'miss'],
  [0, 12, 'partial'],
  [0, 12, 'hit'],
  [12, 12, 'hit'],
  [0, 12 + stepSeconds / 3600, 'partial'],
  [0, 12 + stepSeconds / 3600, 'hit'],
] as const

test('each form is answered from buckets', async (t) => {
  const clients = await startBoth(t)
  if (clients === null) return
  const { direct, proxied } = clients

  for (const { query } of [...sorted, ...aheadOfTheirSteps, ...newlyLabelled, ...returns]) {
    await t.test(JSON.stringify(query), async () => {
      for (const [from, to, outcome] of looks) {
        const [start, end, step] = [atHour(from), atHour(to), stepSeconds].map(String) as [
          string,
          string,
          string,
        ]
        const search = Object.entries({ query, start, end, step })
        const request = { method: 'GET', search, form: [] } as const
        const [expected, got] = [await direct.queryRange(request), await proxied.queryRange(request)]
        const status = String(got.headers['cache-status'])
        assert.equal(compareAnswers(expected, got), undefined, status)
        assert.match(status, new RegExp(`detail="${outcome}`), `${from} to ${to}`)
      }
    })
  }
})

test('a look at one step alone is answered from buckets too, and serves a longer one', async (t) => {
  const clients = await startBoth(t)
  if (clients === null) return
  const { direct, proxied } = clients
  for (const [steps, outcome] of [
    [0, 'miss'],
    [0, 'hit'],
    [1, 'partial'],
    [1, 'hit'],
  ] as const) {
    const [start, end] = [atHour(5), atHour(5) + steps * stepSeconds]
    const search = Object.entries({
      query: 'sort_desc(up)',
      start: `${start}`,
      end: `${end}`,
      step: `${stepSeconds}`,
    })
    const request = { method: 'GET', search, form: [] } as const
    const [expected, got] = [await direct.queryRange(request), await proxied.queryRange(request)]
    const status = String(got.headers['cache-status'])
    assert.equal(compareAnswers(expected, got), undefined, status)
    assert.match(status, new RegExp(`detail="${outcome}`))
  }
})
