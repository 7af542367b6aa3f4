/**
 * The process that fetches for all is killed in the middle of it, again and again: every waiter is answered all the
 * same, once the lease has expired, and correctly.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { ask } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { eventually, until } from '../wait.ts'
import { type RunningWorkers, startWorkers } from '../workers/running-workers.ts'
import type { StoreUrl } from './fleet-laws.ts'

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const rounds = 4
/** More than stalls of a machine make useless. */
const maxAttempts = 40

const windowOf = (attempt: number): string =>
  rangePath({ query: 'held', start, end: start + (30 + attempt) * minute })

export function testDyingHolders(name: string, storeUrl: StoreUrl): void {
  test(`${name}: a holder that is killed is replaced after its lease`, async (t) => {
    const url = await storeUrl(t)
    if (typeof url !== 'string') return t.skip(url.skip)
    const upstream = await startScriptedUpstream(t)
    const flags = ['--stores.shared.url', url, '--backends.main.store', 'shared']
    const slack = ['--stores.shared.timeout=20s', '--stores.shared.lease=1s']
    const start = (): Promise<RunningWorkers> =>
      startWorkers(t, { workers: 1, upstream, flags: [...flags, ...slack] })
    const survivor = await start()
    const expired = () => survivor.counted('windowpane_leases_total', 'result="expired"')
    let replaced = 0
    for (let attempt = 0; replaced < rounds; attempt++) {
      assert.ok(attempt < maxAttempts, `a lease expired in ${replaced} of ${attempt} rounds`)
      const before = await expired()
      await killWhileAwaited({ upstream, holder: await start(), survivor }, windowOf(attempt))
      // A holder that stalls for longer than its lease is not waited for: that round is repeated.
      if ((await expired()) > before) replaced++
    }
  })
}

interface Round {
  readonly upstream: ScriptedUpstream
  readonly holder: RunningWorkers
  readonly survivor: RunningWorkers
}

async function killWhileAwaited({ upstream, holder, survivor }: Round, path: string): Promise<void> {
  const { script } = upstream
  const held: ServerResponse[] = []
  // The first query is never answered.
  upstream.script = (request, response) => {
    if (held.length === 0) held.push(response)
    else script(request, response)
  }
  void ask(holder.url, path).catch(() => {})
  await until(() => held.length > 0)
  let isAnswered = false
  const waiting = ask(survivor.url, path).finally(() => {
    isAnswered = true
  })
  const isSettled = async () => isAnswered || (await holderIsAwaited(survivor))
  await eventually(isSettled, (is) => is)
  holder.child.process.kill('SIGKILL')
  const answer = await waiting
  upstream.script = script
  const truth = matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1)
  assert.equal(answer.body.toString(), truth.toString())
  held[0]!.destroy()
}

/** It has sent a request, and no query of its own: it waits for the other node's. */
async function holderIsAwaited(node: RunningWorkers): Promise<boolean> {
  return (await node.gauge('windowpane_flights')) > 0
}
