/**
 * The process that fetches for all is killed in the middle of it, again and again: every waiter is answered all the
 * same, once the lease has expired, and correctly.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { ask } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { eventually } from '../wait.ts'
import { type RunningWorkers, startWorkers } from '../workers/running-workers.ts'
import type { StoreUrl } from './fleet-laws.ts'

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const rounds = 4

const windowOf = (round: number): string =>
  rangePath({ query: 'held', start, end: start + (30 + round) * minute })

export function testDyingHolders(name: string, storeUrl: StoreUrl): void {
  test(`${name}: a holder that is killed is replaced after its lease`, async (t) => {
    const url = await storeUrl(t)
    if (typeof url !== 'string') return t.skip(url.skip)
    const upstream = await startScriptedUpstream(t)
    const flags = ['--stores.shared.url', url, '--backends.main.store', 'shared']
    const slack = ['--stores.shared.timeout=20s', '--stores.shared.lease=1s']
    const start = (): Promise<RunningWorkers> =>
      startWorkers(t, { workers: 1, upstream, flags: [...flags, ...slack] })
    const { script } = upstream
    const survivor = await start()
    let expired = 0
    for (let round = 0; round < rounds; round++) {
      const holder = await start()
      const path = windowOf(round)
      const held: ServerResponse[] = []
      // The first query of a round is never answered.
      upstream.script = (request, response) => {
        if (held.length === 0) held.push(response)
        else script(request, response)
      }
      void ask(holder.url, path).catch(() => {})
      await eventually(
        async () => held.length,
        (count) => count > 0,
      )
      const waiting = ask(survivor.url, path)
      await eventually(
        () => holderIsAwaited(survivor),
        (isWaiting) => isWaiting,
      )
      holder.child.process.kill('SIGKILL')
      const answer = await waiting
      const truth = matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1)
      assert.equal(answer.body.toString(), truth.toString())
      held[0]!.destroy()
      const counted = await survivor.counted('windowpane_leases_total', 'result="expired"')
      assert.ok(counted > expired, `round ${round}: no lease expired`)
      expired = counted
    }
  })
}

/** It has sent a request, and no query of its own: it waits for the other node's. */
async function holderIsAwaited(node: RunningWorkers): Promise<boolean> {
  return (await node.gauge('windowpane_flights')) > 0
}
