import assert from 'node:assert/strict'
import test from 'node:test'
import { type Panel, SegmentRig, usualSegments } from '../../../test/rigs/segment-rig.ts'
import type { Broken } from '../../engine/ports.ts'
import { fixed } from '../../ttl/fixed.ts'
import { ladder } from '../../ttl/ladder.ts'
import type { DatabaseOptions } from '../assembly/options.ts'
import { retentionOf } from '../assembly/own-storage.ts'
import { limitsOf } from '../limits.ts'
import type { Terms } from '../request/settings.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const iso = (at: number): string => new Date(at).toISOString()

/** A whole day, five days ago. */
const oldDay = ({ clock }: SegmentRig): Panel => {
  const to = Math.floor(clock.now() / day) * day - 5 * day
  return { granularity: 'five_minute', stepMs: 5 * minute, from: to - day, to }
}

/** The last hours, the current one included. */
const lastHours = ({ clock }: SegmentRig, hours: number): Panel => {
  const to = Math.floor(clock.now() / hour) * hour + hour
  return { granularity: 'five_minute', stepMs: 5 * minute, from: to - hours * hour, to }
}

/** Which has seen the segments twice. */
async function watchingRig(options: Partial<ConstructorParameters<typeof SegmentRig>[0]> = {}) {
  const { segments = usualSegments, ...others } = options
  const rig = new SegmentRig({ segments, ...others })
  await rig.clock.advance(1.5 * segments.everyMs)
  return rig
}

/** For whole days: every look costs time. */
const unhurried = { everyMs: 5 * minute, patienceMs: 20 * minute, maxAgeMs: day }

const gone: Broken = { reason: 'database_unreachable', detail: 'connection refused' }

test('settled buckets whose segments are the same are fetched once, and again when they are too old', async () => {
  const rig = await watchingRig({ segments: unhurried })
  const panel = oldDay(rig)
  assert.equal((await rig.ask(panel)).fetched, 288)
  const fetchedAt = rig.clock.now()
  for (let hours = 1; hours < 24; hours++) {
    await rig.clock.advance(hour)
    const seen = await rig.ask(panel)
    assert.equal(seen.decision.outcome, 'hit', `after ${hours} h`)
    assert.equal(seen.text, seen.truth)
    assert.ok(seen.decision.ttlSeconds! > 0 && seen.decision.ttlSeconds! <= 20 * 60)
  }
  await rig.clock.advance(fetchedAt + day - rig.clock.now() - 1)
  assert.equal((await rig.ask(panel)).fetched, 0)
  await rig.clock.advance(1)
  assert.equal((await rig.ask(panel)).fetched, 288)
})

test('without a watcher they are fetched whenever their TTL is over', async () => {
  const rig = new SegmentRig()
  const panel = oldDay(rig)
  await rig.ask(panel)
  for (let hours = 1; hours < 5; hours++) {
    await rig.clock.advance(hour)
    assert.equal((await rig.ask(panel)).fetched, 288)
  }
  assert.equal(rig.druid.looks, 0)
})

test('a late append is seen at the next look, and only its interval is fetched', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  await rig.ask(panel)
  await rig.clock.advance(2 * hour)
  const span = rig.druid.append(panel.from + 7 * hour)
  assert.deepEqual(span, { from: panel.from, to: panel.to })
  const before = await rig.ask({ ...panel, from: panel.from - day })
  assert.equal(before.fetched, 288)
  await rig.clock.advance(usualSegments.everyMs)
  const seen = await rig.ask({ ...panel, from: panel.from - day })
  assert.equal(seen.text, seen.truth)
  assert.notEqual(before.text, before.truth)
  assert.deepEqual(rig.druid.asked.at(-1)!.spans, [span])
  assert.equal(rig.watcher!.figures.marked, 1)
})

test('an hour that is not compacted yet is touched alone', async () => {
  const rig = await watchingRig()
  const to = Math.floor(rig.clock.now() / day) * day
  const panel: Panel = { granularity: 'hour', stepMs: hour, from: to - day, to: to - 4 * hour }
  assert.equal((await rig.ask(panel)).fetched, 20)
  const span = rig.druid.append(panel.from + 7.5 * hour)
  await rig.clock.advance(usualSegments.everyMs)
  const seen = await rig.ask(panel)
  assert.deepEqual(rig.druid.asked.at(-1)!.spans, [span])
  assert.equal(span.to - span.from, hour)
  assert.equal(seen.text, seen.truth)
})

test('buckets fetched before the changed view arrived are marked, whenever the view was requested', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  rig.druid.lookLagMs = 4 * second
  await rig.clock.advance(20 * second)
  const { looks } = rig.druid
  rig.druid.append(panel.from)
  while (rig.druid.looks === looks) await rig.clock.advance(100)
  await rig.clock.advance(2 * second)
  await rig.ask(panel)
  const fetchedAt = rig.clock.now()
  await rig.clock.advance(3 * second)
  const [mark] = rig.marks.list()
  assert.ok(mark!.at >= fetchedAt && mark!.at <= rig.clock.now())
  assert.deepEqual({ ...mark, at: 0 }, { ...markOver(panel), at: 0 })
  assert.equal((await rig.ask(panel)).fetched, 288)
})

const markOver = ({ from, to }: Panel) => ({
  ...{ kind: 'stale', backend: 'druid', source: 'wiki', from, to },
})

test('buckets fetched before the second poll of the same segments are under the TTL policy', async () => {
  const rig = new SegmentRig({ segments: usualSegments })
  const panel = oldDay(rig)
  await rig.clock.advance(5 * second)
  await rig.ask(panel)
  await rig.clock.advance(hour)
  assert.equal((await rig.ask(panel)).fetched, 288)
  await rig.clock.advance(2 * hour)
  assert.equal((await rig.ask(panel)).fetched, 0)
})

test('buckets fetched between a change and the next poll are under the TTL policy: another server may lag', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  rig.druid.append(panel.from)
  await rig.clock.advance(usualSegments.everyMs)
  assert.equal(rig.watcher!.figures.marked, 1)
  await rig.ask(panel)
  await rig.clock.advance(hour)
  assert.equal((await rig.ask(panel)).fetched, 288)
  await rig.clock.advance(2 * hour)
  assert.equal((await rig.ask(panel)).fetched, 0)
})

test('data in progress, and future data, is under the TTL policy', async () => {
  const [watching, other] = [await watchingRig(), new SegmentRig()]
  await other.clock.advance(15 * second)
  // Before the time at which a day is compacted.
  for (let minutes = 0; minutes < 150; minutes += 2) {
    const [seen, expected] = [
      await watching.ask(lastHours(watching, 2)),
      await other.ask(lastHours(other, 2)),
    ]
    assert.equal(seen.fetched, expected.fetched)
    assert.equal(seen.text, expected.text)
    await Promise.all([watching, other].map(({ clock }) => clock.advance(2 * minute)))
  }
  assert.equal(watching.watcher!.figures.marked, 0)
})

test('a watcher that sees nothing is trusted for as long as its patience lasts, and no longer', async () => {
  for (const blindness of [
    gone,
    { status: 403, body: '{"error":"druidException","errorMessage":"Unauthorized"}' },
    { status: 200, body: 'hello' },
  ]) {
    const rig = await watchingRig()
    const panel = oldDay(rig)
    await rig.ask(panel)
    await rig.clock.advance(2 * hour)
    const lastLook = rig.watcher!.figures.viewAt!
    rig.druid.blindness = blindness
    await rig.clock.advance(lastLook + usualSegments.patienceMs - rig.clock.now() - 1)
    assert.equal((await rig.ask(panel)).fetched, 0)
    assert.equal(rig.watcher!.figures.isTrusted, true)
    await rig.clock.advance(1)
    assert.equal(rig.watcher!.figures.isTrusted, false)
    assert.equal((await rig.ask(panel)).fetched, 288)
    // Under the TTL policy from now on: fresh for an hour.
    await rig.clock.advance(59 * minute)
    assert.equal((await rig.ask(panel)).fetched, 0)
    await rig.clock.advance(minute)
    assert.equal((await rig.ask(panel)).fetched, 288)
  }
})

test('after a pause no earlier bucket is vouched for, but changes meanwhile are marked', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  const dayBefore = { ...panel, from: panel.from - day, to: panel.from }
  await rig.ask(panel)
  await rig.ask(dayBefore)
  await rig.clock.advance(10 * minute)
  rig.druid.blindness = gone
  await rig.clock.advance(5 * minute)
  rig.druid.append(panel.from)
  rig.druid.blindness = undefined
  await rig.clock.advance(30 * second)
  const seen = await rig.ask(panel)
  assert.equal(seen.fetched, 288)
  assert.equal(seen.text, seen.truth)
  assert.equal((await rig.ask(dayBefore)).fetched, 0)
  await rig.clock.advance(hour)
  assert.equal((await rig.ask(dayBefore)).fetched, 288)
})

test('a short failure breaks nothing', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  await rig.ask(panel)
  rig.druid.blindness = gone
  await rig.clock.advance(40 * second)
  rig.druid.blindness = undefined
  await rig.clock.advance(3 * hour)
  assert.equal((await rig.ask(panel)).fetched, 0)
})

test('an outage is logged once, and its end once, with the reason and a remedy', async () => {
  const said: unknown[] = []
  const log = {
    line() {},
    change: (topic: string, state: { is: string }, fields?: object) =>
      void (
        said.some((each) => JSON.stringify(each) === JSON.stringify([topic, state.is, fields])) ||
        said.push([topic, state.is, fields])
      ),
  }
  const rig = await watchingRig({ log })
  rig.druid.blindness = { status: 403, body: '{"errorMessage":"Unauthorized"}' }
  await rig.clock.advance(10 * minute)
  assert.equal(rig.watcher!.figures.trouble, 'status 403: Unauthorized')
  rig.druid.blindness = undefined
  await rig.clock.advance(minute)
  assert.equal(rig.watcher!.figures.trouble, undefined)
  assert.deepEqual(said, [
    ['segments of druid', 'watched', undefined],
    [
      'segments of druid',
      'cannot be seen; settled buckets go back to their TTLs',
      {
        detail: 'status 403: Unauthorized',
        remedy:
          'Let the account of backends.druid.auth read sys.segments and the data sources, or switch backends.druid.segments.watch off.',
      },
    ],
  ])
})

test('there is one look at a time, and one without an answer is given up when it would be too old', async () => {
  const rig = await watchingRig()
  const { looks } = rig.druid
  rig.druid.lookLagMs = 25 * second
  await rig.clock.advance(10 * minute)
  const slow = rig.druid.looks - looks
  assert.ok(slow >= 16 && slow <= 18, `${slow} looks, each of 25 s with 10 s between`)
  assert.equal(rig.watcher!.figures.isTrusted, true)
  rig.druid.lookLagMs = hour
  await rig.clock.advance(3 * minute)
  assert.equal(rig.watcher!.figures.trouble, 'no answer in time')
  assert.equal(rig.watcher!.figures.isTrusted, false)
})

test('in an outage, buckets vouched for until then are served for as long as any stale ones', async () => {
  const rig = await watchingRig({ segments: unhurried })
  const panel = oldDay(rig)
  const { text } = await rig.ask(panel)
  await rig.clock.advance(10 * hour)
  rig.druid.blindness = gone
  rig.druid.failure = gone
  const lapse = rig.watcher!.figures.viewAt! + unhurried.patienceMs
  await rig.clock.advance(lapse + 14 * minute - rig.clock.now())
  const seen = await rig.ask(panel)
  assert.equal(seen.decision.outcome, 'stale')
  assert.equal(seen.decision.ttlSeconds, -14 * 60)
  assert.equal(seen.text, text)
  await rig.clock.advance(2 * minute)
  await assert.rejects(rig.ask(panel), /failure/)
})

test('an explanation shows that a bucket is past its TTL and why it is still fresh', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  await rig.ask(panel)
  await rig.clock.advance(2 * hour)
  const { outcome, runs, sentence } = await rig.explain(panel)
  assert.equal(outcome, 'hit')
  assert.deepEqual(
    runs!.map(({ state, settled, vouched, buckets }) => ({ state, settled, vouched, buckets })),
    [{ state: 'fresh', settled: true, vouched: true, buckets: 288 }],
  )
  assert.ok(runs![0]!.ttlLeftMs!.min > 0 && runs![0]!.ttlLeftMs!.max <= minute)
  assert.match(
    sentence,
    /^Hit: all 288 buckets are fresh \(288 of them past their TTLs, but unchanged since they were fetched\), and/,
  )
})

test('a purge counts before the witness', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  await rig.ask(panel)
  await rig.clock.advance(2 * hour)
  await rig.marks.add({ ...markOver(panel), kind: 'purge', at: rig.clock.now() })
  assert.equal((await rig.ask(panel)).fetched, 288)
})

test('when the clock is set back, the views of the future are not trusted', async () => {
  const rig = await watchingRig()
  const panel = oldDay(rig)
  await rig.ask(panel)
  await rig.clock.advance(3 * hour)
  rig.clock.jump(rig.clock.now() - 90 * minute)
  assert.equal(rig.watcher!.figures.isTrusted, false)
  assert.equal((await rig.ask(panel)).fetched, 288)
})

test('very many changes at once are one mark, from the first to the last', async () => {
  const rig = await watchingRig()
  // Every other hour of the two days that are not compacted yet.
  const first = Math.floor(rig.clock.now() / day) * day - 2 * day
  for (let hours = 0; hours < 42; hours += 2) rig.druid.append(first + hours * hour)
  await rig.clock.advance(usualSegments.everyMs)
  const spans = rig.marks.list().map(({ from, to }) => [iso(from), iso(to)])
  assert.deepEqual(spans, [[iso(first), iso(first + 41 * hour)]])
})

test('there are no polls once it is closed', async () => {
  const rig = await watchingRig()
  const { looks } = rig.druid
  rig.watcher!.close()
  await rig.clock.advance(10 * minute)
  assert.equal(rig.druid.looks, looks)
  assert.equal(rig.clock.pending, 0)
})

test('buckets are kept for as long as they may be fresh, and stale after that', () => {
  const terms = { mode: 'on', identity: 'shared', policy: ladder(), maxStaleMs: hour } as const
  const database = { name: 'druid', settings: () => ({ terms, rules: [] }) } as unknown as DatabaseOptions
  const limits = limitsOf({ retentionMs: hour })
  const segments = { ...usualSegments, maxAgeMs: 3 * day }
  assert.equal(retentionOf({ limits, databases: [database] }), 2 * hour)
  assert.equal(retentionOf({ limits, databases: [{ ...database, segments }] }), 3 * day + hour)
})

test('buckets that rules make exceptions of are kept for as long, too', () => {
  const terms = { mode: 'on', identity: 'shared', policy: ladder(), maxStaleMs: hour } as const
  const limits = limitsOf({ retentionMs: hour })
  const retentionWith = (...ruled: Partial<Terms>[]) => {
    const rules = ruled.map((terms) => ({ name: 'rule', terms, isMatch: () => true }))
    const database = { name: 'druid', settings: () => ({ terms, rules }) } as unknown as DatabaseOptions
    return retentionOf({ limits, databases: [database] })
  }
  assert.equal(retentionWith({ mode: 'off' }), 2 * hour)
  assert.equal(retentionWith({ policy: fixed(2 * day) }), 2 * day + hour)
  assert.equal(retentionWith({ maxStaleMs: day }), day + hour)
  // The first rule that matches decides alone.
  assert.equal(retentionWith({ policy: fixed(2 * day) }, { maxStaleMs: day }), 2 * day + hour)
})
