/**
 * The database's prohibitions and limits (RFC 9111), where the running program is not needed: shadow mode, tiers,
 * nodes, marks.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'
import { fixed } from '../ttl/fixed.ts'

const dayMs = 1440 * minuteMs

/** The fetched cells, per query, since the last call. */
const askedCells = ({ database }: Pick<EngineRig, 'database'>): number[] =>
  database.asked.splice(0).map(({ cells }) => cells)

for (const [reason, ...headers] of [
  ['no_store', 'Cache-Control', 'no-store'],
  ['private', 'Cache-Control', 'private'],
  ['no_cache', 'Cache-Control', 'max-age=0'],
  ['vary', 'Vary', 'X-Team'],
] as const) {
  test(`in shadow mode ${headers.join(': ')} stores nothing, and stored buckets stay`, async () => {
    const rig = new EngineRig()
    const to = rig.openCell - dayMs
    rig.database.headers = headers
    const { decision } = await rig.shadow(10, to)
    assert.deepEqual([decision.reason, decision.stored, decision.unstored], ['shadow', false, reason])
    assert.equal(decision.detail, 'would be miss')
    assert.equal((await rig.explain(10, to)).outcome, 'miss')
    rig.database.headers = []
    await rig.shadow(10, to)
    rig.database.headers = headers
    await rig.shadow(12, to + 2 * minuteMs)
    assert.equal((await rig.explain(10, to)).outcome, 'hit')
    assert.equal((await rig.explain(12, to + 2 * minuteMs)).outcome, 'partial')
  })

  test(`nodes that share a store: after ${headers.join(': ')} each queries the database itself`, async () => {
    const fleet = new FleetRig({ nodes: 2 })
    fleet.database.lagMs = 100
    fleet.database.headers = headers
    const all = fleet.nodes.flatMap((node) => [node.ask(30), node.ask(30)])
    await fleet.clock.advance(60_000)
    const answers = await Promise.all(all)
    const own = answers.filter(({ answer }) => answer.kind === 'panes')
    assert.equal(own.length, fleet.database.asked.length)
    for (const { answer } of answers) {
      assert.ok(answer.kind === 'panes' || (answer.kind === 'forward' && answer.reason === reason))
    }
  })
}

test('a limit goes with the buckets: through memory, a far tier and another node', async () => {
  const fleet = new FleetRig({ nodes: 2, maxStaleMs: minuteMs })
  const to = fleet.openCell - dayMs
  fleet.database.headers = ['Cache-Control', 'max-age=60']
  // Twice: a shape with one request does not reach the far tier.
  await fleet.ask(0, 30, to)
  const fetchedAt = fleet.database.asked[0]!.at
  await fleet.ask(0, 30, to)
  await fleet.clock.advance(1000)
  // The second node has a record of its own, without a limit.
  fleet.database.headers = []
  await fleet.ask(1, 10, to + 20 * minuteMs)
  await fleet.clock.advance(1000)
  askedCells(fleet)
  assert.equal((await fleet.ask(1, 30, to)).decision.outcome, 'hit')
  await fleet.clock.advance(fetchedAt + 59_000 - fleet.clock.now())
  for (const node of [0, 1]) assert.equal((await fleet.ask(node, 30, to)).decision.outcome, 'hit')
  assert.deepEqual(askedCells(fleet), [])
  await fleet.clock.advance(fetchedAt + 60_000 - fleet.clock.now())
  assert.equal((await fleet.ask(1, 30, to)).decision.reason, 'expired')
  assert.deepEqual(askedCells(fleet), [30])
})

test('a longer policy that comes later does not outlive the limit', async () => {
  const rig = new EngineRig()
  const to = rig.openCell - dayMs
  rig.database.headers = ['Cache-Control', 'max-age=30']
  rig.policy = fixed(10_000)
  await rig.ask(10, to)
  await rig.clock.advance(10_000)
  assert.equal((await rig.explain(10, to)).outcome, 'miss')
  rig.policy = fixed(dayMs)
  const { outcome, runs } = await rig.explain(10, to)
  assert.deepEqual([outcome, runs![0]!.ttlLeftMs], ['hit', { min: 20_000, max: 20_000 }])
  assert.deepEqual(runs![0]!.fetchAgeMs, { min: 10_000, max: 10_000 })
  await rig.clock.advance(20_000)
  assert.equal((await rig.explain(10, to)).outcome, 'miss')
})

test('a client’s max-age counts from the instant of the fetch, limits or not', async () => {
  for (const headers of [[], ['Cache-Control', 'max-age=60']]) {
    const rig = new EngineRig()
    const to = rig.openCell - dayMs
    rig.database.headers = headers
    const notBefore = rig.clock.now()
    await rig.ask(10, to)
    await rig.clock.advance(5000)
    const at = (instant: number) => rig.explain(10, to, { demands: { notBefore: instant } })
    assert.equal((await at(notBefore)).outcome, 'hit')
    assert.equal((await at(notBefore + 1)).reason, 'revalidate')
  }
})

test('an answer that must be revalidated and was marked as changed is not served in an outage', async () => {
  for (const [directive, outcome] of [
    ['max-age=600', 'stale'],
    ['max-age=600, must-revalidate', 'error'],
  ] as const) {
    const rig = new EngineRig()
    const to = rig.openCell - dayMs
    rig.database.headers = ['Cache-Control', directive]
    await rig.ask(10, to)
    await rig.clock.advance(1000)
    await rig.marks.add({
      kind: 'stale',
      backend: 'cells',
      from: 0,
      to: rig.clock.now(),
      at: rig.clock.now(),
    })
    rig.database.failure = { reason: 'database_unreachable', detail: 'down' }
    assert.equal((await rig.ask(10, to)).decision.outcome, outcome)
  }
})

test('a purge at the instant of the fetch concerns buckets with limits, too', async () => {
  const rig = new EngineRig()
  const to = rig.openCell - dayMs
  rig.database.headers = ['Cache-Control', 'max-age=600']
  await rig.ask(10, to)
  const at = rig.clock.now()
  await rig.marks.add({ kind: 'purge', backend: 'cells', from: 0, to: at, at })
  assert.equal((await rig.explain(10, to)).reason, 'purged')
})

test('after an answer that may not be shared no request waits for the next, until one may be', async () => {
  const rig = new EngineRig()
  const to = rig.openCell - dayMs
  rig.database.headers = ['Cache-Control', 'no-store']
  rig.database.lagMs = 100
  // Which of them comes first is the store's affair.
  const both = async () => {
    const asking = [rig.ask(10, to), rig.ask(10, to)]
    await rig.clock.advance(100)
    return Promise.all(asking)
  }
  assert.deepEqual((await both()).map(({ answer }) => answer.kind).sort(), ['forward', 'panes'])
  for (const { answer, decision } of await both()) {
    assert.deepEqual([answer.kind, decision.unstored, decision.collapsed], ['panes', 'no_store', false])
  }
  rig.database.headers = []
  await both()
  await rig.clock.advance(3_600_000)
  assert.deepEqual((await both()).map(({ decision }) => decision.collapsed).sort(), [false, true])
})

test('explain, the decision and the answer agree about unstored answers', async () => {
  const rig = new EngineRig()
  const to = rig.openCell - dayMs
  await rig.ask(10, to)
  rig.database.headers = ['Vary', 'X-Team', 'Content-Type', 'application/json']
  const { decision, answer, text } = await rig.ask(12, to + 2 * minuteMs)
  assert.deepEqual(
    [decision.outcome, decision.stored, decision.unstored, decision.detail],
    ['partial', false, 'vary', 'Vary: X-Team'],
  )
  assert.equal(text, rig.truth(12, to + 2 * minuteMs))
  assert.ok(answer.kind === 'panes' && answer.panes === undefined, 'nothing keeps it compressed')
  const told = await rig.explain(12, to + 2 * minuteMs)
  assert.deepEqual([told.outcome, told.unstored], ['partial', { reason: 'vary', detail: 'Vary: X-Team' }])
  assert.match(told.sentence, /would be fetched\. The last answer was not stored: .* \(Vary: X-Team\)\.$/)
  assert.equal((await rig.ask(10, to)).decision.outcome, 'hit')
})
