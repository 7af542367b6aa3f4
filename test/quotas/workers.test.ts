/** Several threads are one process: they count together. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { oldRange } from '../proxy/setup.ts'
import { eventually } from '../wait.ts'
import { startWorkers } from '../workers/running-workers.ts'

const flags = [
  ...['--quotas.entity=header:X-Tenant', '--quotas.limits.0.name=requests', '--quotas.limits.0.capacity=7'],
  ...['--quotas.limits.0.refill=1', '--quotas.limits.0.every=1d', '--quotas.limits.1.name=cost'],
  ...['--quotas.limits.1.capacity=600', '--quotas.limits.1.refill=1', '--quotas.limits.1.every=1d'],
]

test('workers admit the capacity of one process, and are counted together', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const running = await startWorkers(t, { workers: 2, upstream, flags })
  const path = rangePath(oldRange())
  const answers = await Promise.all(
    Array.from({ length: 30 }, () =>
      fetch(running.url + path, { headers: { 'X-Tenant': 'a', Connection: 'close' } }),
    ),
  )
  const statuses = answers.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 200).length, 7, statuses.join())
  assert.equal(statuses.filter((status) => status === 429).length, 23)
  const spent = answers.map((answer) => answer.headers.get('ratelimit')).join('\n')
  assert.match(spent, /"cost";r=0/, 'one query was charged')
  const refused = () => running.counted('windowpane_quota_refusals_total', 'limit="requests",mode="enforced"')
  await eventually(refused, (count) => count === 23)
})
