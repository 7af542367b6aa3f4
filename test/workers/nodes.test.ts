/** Two processes that share a durable store, one of them with two workers: they act as one towards the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from '../../src/config/open-store.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { scratchDirectory } from '../stores/scratch.ts'
import { eventually } from '../wait.ts'
import { startWorkers } from './running-workers.ts'

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const window = (minutes: number) => rangePath({ start, end: start + minutes * minute })
const truth = (path: string): string =>
  matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1).toString()

test('two processes on one store: a hit from the other’s buckets, and one query for both at once', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const url = `lmdb:${scratchDirectory()}`
  // On a busy machine the store may be late; requests then go on without it.
  const patient = ['--stores.shared.timeout', '1m']
  const flags = ['--stores.shared.url', url, '--backends.main.store', 'shared', ...patient]
  const [one, two] = [
    await startWorkers(t, { workers: 1, upstream, flags }),
    await startWorkers(t, { workers: 2, upstream, flags }),
  ]
  const store = await openStore(url)
  t.after(() => store.close())
  const fetches = () => upstream.seen.filter(({ target }) => target.includes('query_range')).length

  // The second sighting takes it to the shared store.
  for (const outcome of ['miss/absent', 'hit'])
    assert.equal(outcomeOf(await ask(one.url, window(30))), outcome)
  const listed = async () => {
    for await (const [key] of store.panes.shapes()) return key
    return undefined
  }
  const key = (await eventually(listed, (found) => found !== undefined))!
  const shared = await ask(two.url, window(30))
  assert.deepEqual([outcomeOf(shared), shared.body.toString()], ['hit', truth(window(30))])
  assert.equal(fetches(), 1)

  // The database delays its answer until both have sent their requests.
  const { script } = upstream
  let answer = () => {}
  upstream.script = (request, response) => {
    answer = () => script(request, response)
  }
  const first = ask(one.url, window(60))
  await upstream.next()
  const second = ask(two.url, window(60))
  const claim = async () => {
    const cell = await store.cells!.get({ pk: `claim#${key}`, sk: 'flights' }, 1)
    return cell === undefined ? '' : Buffer.from(cell.value).toString()
  }
  await eventually(claim, (row) => row.includes('"isAwaited":true'))
  answer()
  for (const each of await Promise.all([first, second])) assert.equal(each.body.toString(), truth(window(60)))
  assert.equal(fetches(), 2)
  // Claims of workers are made, and counted, by their main thread.
  assert.ok((await one.counted('windowpane_leases_total', 'result="won"')) > 0)
  assert.ok((await two.counted('windowpane_leases_total', 'result="waited"')) > 0)
})
