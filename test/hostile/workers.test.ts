/** Hostile requests to two workers: each gets its error, other clients are unaffected, and no worker ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, outcomeOf } from '../proxy/client.ts'
import { matrixFor } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { many, startWorkers } from '../workers/running-workers.ts'
import { exchange, goodPath, hostileRequests, statusesIn } from './wire-corpus.ts'

const truth = matrixFor(new URLSearchParams(goodPath.slice(goodPath.indexOf('?'))), 1)

test('two workers answer hostile requests with their errors, and everybody else with the truth', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { url, askMany, child } = await startWorkers(t, { upstream })
  const target = { url }
  assert.equal((await ask(url, goodPath)).body.toString(), truth)
  for (const request of hostileRequests) {
    // Several at once, on connections of their own: the system spreads them over the workers.
    const answers = await Promise.all(many(request, 6).map((each) => exchange(target, each)))
    for (const answer of answers)
      assert.deepEqual(statusesIn(answer), request.statuses, `${request.name}: ${answer}`)
  }
  for (const answer of await askMany(many(goodPath))) {
    assert.equal(answer.body.toString(), truth)
    assert.equal(outcomeOf(answer), 'hit')
  }
  assert.doesNotMatch(child.err(), /a worker ended/)
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
})
