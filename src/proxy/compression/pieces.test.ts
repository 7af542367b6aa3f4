import assert from 'node:assert/strict'
import test from 'node:test'
import { scheduler } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Recomposed } from '../../backends/backend.ts'
import { MatrixSink } from '../../backends/matrix/decompose.ts'
import { recompose } from '../../backends/matrix/recompose.ts'
import { Budget } from '../../core/budget.ts'
import { gridThrough } from '../../core/grid.ts'
import { type Pane, slice } from '../../core/pane.ts'
import { join } from '../../core/pane-join.ts'
import { garbageCollector } from '../../core/runtime.ts'
import { mixSeeds } from '../../testing/random.ts'
import { Pieces } from './pieces.ts'
import { blockBuckets, makeBlocks, type PieceJob } from './pieces-block.ts'
import type { Delivery, PieceMaker } from './pieces-maker.ts'

const grid = gridThrough('point', 15_000, 0)
const first = 3 * blockBuckets + 5

/** `columns` series that have a point in each of the buckets. */
function paneOf({ columns = 20, from = first, buckets = 20 * blockBuckets } = {}): Pane {
  const rows = Array.from({ length: columns }, (_, row) => {
    const points = Array.from(
      { length: buckets },
      (_, i) => `[${(from + i) * 15},"${mixSeeds(row, from + i)}"]`,
    )
    return `{"metric":{"row":"${1000 + row}"},"values":[${points.join(',')}]}`
  })
  const sink = new MatrixSink(grid, { from, to: from + buckets })
  sink.write(Buffer.from(`{"status":"success","data":{"resultType":"matrix","result":[${rows.join(',')}]}}`))
  const result = sink.end(1)
  assert.ok('panes' in result)
  return result.panes[0]!
}

/** Does its jobs on demand. */
class SlowMaker implements PieceMaker {
  readonly jobs: { job: PieceJob; deliver: Delivery }[] = []
  isBusy = false
  isClosed = false

  make(job: PieceJob, deliver: Delivery): boolean {
    if (!this.isBusy) this.jobs.push({ job, deliver })
    return !this.isBusy
  }

  /** Returns how many blocks were made. */
  work(): number {
    const jobs = this.jobs.splice(0)
    for (const { job, deliver } of jobs) deliver(makeBlocks(job))
    return jobs.reduce((sum, { job }) => sum + job.blocks, 0)
  }

  fail(): void {
    for (const { deliver } of this.jobs.splice(0)) deliver(undefined)
  }

  close(): void {
    this.isClosed = true
    this.fail()
  }
}

function stand(limit = 64 * 2 ** 20) {
  const budget = new Budget(limit)
  const maker = new SlowMaker()
  return { budget, maker, pieces: new Pieces(budget, maker) }
}

type Stand = ReturnType<typeof stand>

const part = (pane: Pane, from: number, to: number): Pane =>
  slice(pane, { from: first + from, to: first + to })

/** As an answer is sent: put together where that is possible, and pieces ordered for the next. */
function ask({ pieces }: Stand, panes: readonly Pane[]): 'spliced' | 'whole' {
  const answer = recompose(panes)
  const target = Buffer.alloc(answer.length)
  const end = pieces.isWorthwhile(panes, answer) ? pieces.write(answer, target) : 0
  if (end > 0) assert.ok(gunzipSync(target.subarray(0, end)).equals(written(answer)))
  pieces.want(panes, answer)
  return end > 0 ? 'spliced' : 'whole'
}

function written(answer: Recomposed): Buffer {
  const target = Buffer.alloc(answer.length)
  answer.write(target)
  return target
}

test('the first answer is compressed whole, and so is every one until the pieces are made', () => {
  const rig = stand()
  const pane = paneOf()
  assert.equal(ask(rig, [part(pane, 0, 300)]), 'whole')
  assert.equal(ask(rig, [part(pane, 1, 301)]), 'whole')
  assert.equal(rig.maker.jobs.length, 1, 'a body is in one job at a time')
  rig.maker.work()
  assert.equal(ask(rig, [part(pane, 2, 302)]), 'spliced')
})

test('the pieces of a window are made, no more, and only once', () => {
  const rig = stand()
  const pane = paneOf()
  ask(rig, [part(pane, 0, 300)])
  // 5 to 305 from a block's beginning: ten blocks, of which the first lies before the body.
  assert.equal(rig.maker.work(), 9)
  assert.equal(ask(rig, [part(pane, 3, 310)]), 'spliced')
  assert.equal(rig.maker.work(), 0)
  ask(rig, [part(pane, 40, 340)])
  assert.equal(rig.maker.work(), 1)
  assert.equal(ask(rig, [pane]), 'whole')
  rig.maker.work()
  assert.equal(ask(rig, [pane]), 'spliced')
})

test('small answers, short windows and answers of many series with few points have no pieces made', () => {
  const rig = stand()
  const wide = paneOf({ columns: 3000, buckets: 12 })
  const short = paneOf({ columns: 200, buckets: 3 * blockBuckets })
  const small = paneOf({ columns: 1 })
  const narrow = paneOf({ columns: 1000, buckets: 5 * blockBuckets })
  for (const pane of [wide, short, small, part(narrow, 0, 100)]) {
    assert.equal(ask(rig, [pane]), 'whole')
    assert.equal(rig.maker.jobs.length, 0)
  }
})

test('a body of points far between has no pieces made', () => {
  const sink = new MatrixSink(grid, { from: 0, to: 4000 })
  const rows = Array.from({ length: 2000 }, (_, row) => {
    return `{"metric":{"row":"${1000 + row}"},"values":[[${row * 15},"1"],[${(row + 1) * 15},"2"]]}`
  })
  sink.write(Buffer.from(`{"status":"success","data":{"resultType":"matrix","result":[${rows.join(',')}]}}`))
  const result = sink.end(1)
  assert.ok('panes' in result)
  const rig = stand()
  ask(rig, result.panes)
  assert.equal(rig.maker.jobs.length, 0)
})

test('an answer of several bodies, some without pieces', () => {
  const rig = stand()
  const old = paneOf()
  const tail = paneOf({ from: first + 20 * blockBuckets, buckets: 9 })
  const panes = (from: number) => [part(old, from, 640), tail]
  ask(rig, panes(100))
  rig.maker.work()
  assert.equal(ask(rig, panes(101)), 'spliced')
  assert.equal(ask(rig, [part(old, 560, 640), paneOf({ from: tail.to, buckets: 100 })]), 'whole')
})

test('a joined body takes over the pieces of those it was joined from', () => {
  const rig = stand()
  const old = paneOf()
  ask(rig, [old])
  rig.maker.work()
  const { held } = rig.pieces
  const joined = join([part(old, 50, 640), paneOf({ from: old.to, buckets: 3 })])
  assert.equal(ask(rig, [part(joined, 60, 643)]), 'spliced')
  assert.ok(rig.pieces.held <= held + 1024)
  assert.equal(ask(rig, [part(old, 60, 600)]), 'whole', 'they have moved')
  rig.maker.fail()
  // A column more: nothing holds for it. A column that ended: all others stand where they stood.
  const more = join([part(joined, 60, 643), paneOf({ columns: 21, from: joined.to, buckets: 3 })])
  assert.equal(ask(rig, [part(more, 60, 640)]), 'whole')
  const fewer = join([part(joined, 60, 643), paneOf({ columns: 19, from: joined.to, buckets: 3 })])
  assert.equal(ask(rig, [part(fewer, 60, 640)]), 'spliced')
})

test('pieces are held in the budget, in no more than their share of it, and given back', () => {
  const rig = stand(8 * 2 ** 20)
  const { budget, pieces, maker } = rig
  const panes = Array.from({ length: 30 }, () => paneOf())
  for (let round = 0; round < 10; round++) {
    for (const pane of panes) {
      ask(rig, [pane])
      maker.work()
      assert.equal(budget.used, pieces.held)
      assert.ok(pieces.held <= budget.limit / 8, `${pieces.held} bytes`)
    }
  }
  assert.ok(pieces.held > budget.limit / 16)
  pieces.close()
  assert.deepEqual([budget.used, pieces.held, maker.isClosed], [0, 0, true])
})

test('more bodies than fit do not chase each other: some have pieces, the others none', () => {
  const rig = stand(8 * 2 ** 20)
  const panes = Array.from({ length: 12 }, () => paneOf())
  let made = 0
  for (let round = 0; round < 20; round++) {
    for (const pane of panes) {
      ask(rig, [pane])
      const blocks = rig.maker.work()
      if (round >= 10) made += blocks
    }
  }
  assert.equal(made, 0)
  assert.ok(panes.some((pane) => ask(rig, [pane]) === 'spliced'))
})

test('pieces without requests make room for requested ones', () => {
  const rig = stand(8 * 2 ** 20)
  const [old, now] = [0, 1].map(() => Array.from({ length: 6 }, () => paneOf()))
  for (const panes of [old!, now!]) {
    for (let round = 0; round < 20; round++) {
      for (const pane of panes) {
        ask(rig, [pane])
        rig.maker.work()
      }
    }
  }
  assert.ok(now!.filter((pane) => ask(rig, [pane]) === 'spliced').length >= 3)
})

test('other users of memory evict the pieces first', () => {
  const rig = stand()
  const { budget, pieces } = rig
  ask(rig, [paneOf()])
  rig.maker.work()
  assert.ok(pieces.held > 0)
  assert.ok(budget.reserve(budget.limit))
  assert.deepEqual([pieces.held, budget.used], [0, budget.limit])
})

test('a piece in progress is held too, and its result takes no more room than that', () => {
  const rig = stand()
  const { budget, pieces, maker } = rig
  ask(rig, [paneOf()])
  const job = budget.used - pieces.held
  assert.ok(job > 100_000)
  budget.reserve(budget.limit - budget.used)
  maker.work()
  assert.ok(pieces.held > 0 && budget.used <= budget.limit)
})

test('in a full budget none are made: panes do not make room for pieces', () => {
  const rig = stand()
  rig.budget.onPressure(
    () => assert.fail('panes were asked for room'),
    () => rig.budget.limit,
  )
  rig.budget.reserve(rig.budget.limit)
  assert.equal(ask(rig, [paneOf()]), 'whole')
  assert.deepEqual([rig.maker.jobs.length, rig.pieces.held], [0, 0])
})

test('a job that fails or is not taken leaves nothing behind, and is given again', () => {
  const rig = stand()
  const pane = paneOf()
  ask(rig, [pane])
  rig.maker.fail()
  assert.deepEqual([rig.budget.used, rig.pieces.held], [0, 0])
  rig.maker.isBusy = true
  ask(rig, [pane])
  assert.deepEqual([rig.budget.used, rig.pieces.held], [0, 0])
  rig.maker.isBusy = false
  ask(rig, [pane])
  rig.maker.work()
  assert.equal(ask(rig, [pane]), 'spliced')
})

test('pieces that come for a body which was dropped meanwhile are not kept', () => {
  const rig = stand()
  const { budget, pieces, maker } = rig
  ask(rig, [paneOf()])
  const room = budget.limit - budget.used + pieces.held
  budget.reserve(room)
  assert.equal(pieces.held, 0)
  budget.release(room)
  maker.work()
  assert.deepEqual([pieces.held, budget.used], [0, 0])
})

test('a body that is garbage-collected releases its pieces', async () => {
  const collect = garbageCollector()
  const rig = stand()
  ask(rig, [paneOf()])
  rig.maker.work()
  assert.ok(rig.pieces.held > 0)
  for (let turn = 0; turn < 1000 && rig.pieces.held > 0; turn++) {
    collect()
    await scheduler.yield()
  }
  assert.equal(rig.budget.used, 0)
})
