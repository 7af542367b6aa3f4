import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectedDatabase, DatabaseAnswer, Subject } from '../kind.ts'
import { victoriametricsKind } from './kind.ts'

const subject = { name: 'main' } as Subject

async function findings(answer: Partial<DatabaseAnswer> | Error) {
  const get = async (path: string) => {
    assert.equal(path, '/flags')
    if (answer instanceof Error) throw answer
    return { status: 200, text: '', date: undefined, ...answer }
  }
  const found = await victoriametricsKind.examine(subject, { get } as unknown as ConnectedDatabase)
  return found.map(({ check, status, sentence, remedy = '' }) => [
    check,
    status,
    `${sentence} ${remedy}`.trim(),
  ])
}

test('points that the server changes later than they are stored are warned of', async () => {
  // As a real server lists them: only those that are not the default, or all of them.
  const text =
    '-dedup.minScrapeInterval="2m0s"\n-search.latencyOffset="5m0s"\n-search.maxStepForPointsAdjustment="1m30s"\n'
  const [offset, step, dedup, ...more] = await findings({ text })
  assert.deepEqual(
    [offset, step, dedup].map((each) => each?.slice(0, 2)),
    Array.from({ length: 3 }, () => ['settings main', 'warn']),
  )
  assert.deepEqual(more, [])
  assert.match(dedup![2]!, /-dedup\.minScrapeInterval is 2m, .* at most 1m, or/)
  assert.match(offset![2]!, /-search\.latencyOffset is 5m, .* at most 1m, or/)
  assert.match(step![2]!, /-search\.maxStepForPointsAdjustment is 1m30s, .* at most 1m, or/)
})

test('the usual flags are fine, and a server that does not list them is not judged', async () => {
  for (const text of [
    '-a="b"\n',
    '-dedup.minScrapeInterval="30s"\n-search.latencyOffset="30s"\n-search.maxStepForPointsAdjustment="1m0s"\n',
  ])
    assert.deepEqual(
      (await findings({ text })).map(([, status]) => status),
      ['ok'],
      text,
    )
  // vmselect has its flags elsewhere than its API, and they may need a key.
  for (const answer of [{ status: 404 }, { text: '<html>' }, new Error('reset')])
    assert.deepEqual(
      (await findings(answer)).map(([, status]) => status),
      ['skip'],
    )
})
