/**
 * Several threads, one cache: their common queries to the database, and the effect of a purge or of the end of a
 * thread.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type Served } from '../../test/rigs/engine-rig.ts'
import { ThreadRig } from '../../test/rigs/thread-rig.ts'
import { clockOf } from '../core/pane.ts'
import { pick, type Random, seededRandom, wholeNumber } from '../testing/random.ts'

const seeds = Array.from({ length: 25 }, (_, i) => i + 1)

/** The oldest clock in an answer. */
function oldestIn({ answer }: Served): number {
  assert.ok(answer.kind === 'panes', `${answer.kind}`)
  let oldest = Number.POSITIVE_INFINITY
  for (const pane of answer.panes ?? []) {
    for (let bucket = pane.from; bucket < pane.to; bucket++) oldest = Math.min(oldest, clockOf(pane, bucket))
  }
  return oldest
}

test('a bucket that one thread has fetched is a hit in another', async () => {
  const rig = new ThreadRig(2, seededRandom(1))
  const first = rig.ask(0, 30)
  await rig.clock.advance(10)
  assert.equal((await first).decision.outcome, 'miss')
  const second = rig.ask(1, 30)
  await rig.clock.advance(10)
  assert.equal((await second).decision.outcome, 'hit')
  assert.equal((await second).text, rig.truth(30))
  assert.equal(rig.database.asked.length, 1)
})

test('concurrent viewers in three threads cause one query', async () => {
  for (const seed of seeds) {
    const rig = new ThreadRig(3, seededRandom(seed))
    rig.database.lagMs = 50
    const to = rig.openCell + minuteMs
    const all = Array.from({ length: 30 }, (_, i) => rig.ask(i % 3, 30, to))
    await rig.clock.advance(200)
    for (const served of await Promise.all(all)) assert.equal(served.text, rig.truth(30, to))
    assert.equal(rig.database.asked.length, 1, `seed ${seed}`)
    assert.equal(rig.openClaims, 0)
    assert.equal(rig.held, 0)
  }
})

test('a request whose lookup was just before another thread landed looks again instead of querying', async () => {
  const rig = new ThreadRig(2, () => 1)
  const first = rig.ask(0, 30)
  // Its lookup is answered when nothing is stored yet, its claim when everything is.
  await rig.clock.advance(3.5)
  const second = rig.ask(1, 30)
  await rig.clock.advance(50)
  assert.equal((await first).decision.outcome, 'miss')
  assert.equal((await second).decision.outcome, 'hit')
  assert.equal(rig.database.asked.length, 1)
})

test('a gap of which another thread fetches a part is not fetched twice', async () => {
  const rig = new ThreadRig(2, seededRandom(7))
  rig.database.lagMs = 50
  const to = rig.openCell - 60 * minuteMs
  const wide = rig.ask(0, 40, to)
  await rig.clock.advance(20)
  const later = rig.ask(1, 40, to + 10 * minuteMs)
  await rig.clock.advance(200)
  assert.equal((await wide).text, rig.truth(40, to))
  assert.equal((await later).text, rig.truth(40, to + 10 * minuteMs))
  assert.deepEqual(
    rig.database.asked.map(({ cells }) => cells),
    [40, 10],
  )
})

test('a flight in another thread that is much wider than a gap is not waited for', async () => {
  const rig = new ThreadRig(2, seededRandom(3))
  rig.database.lagMs = 50
  const to = rig.openCell - 60 * minuteMs
  const wide = rig.ask(0, 100, to)
  await rig.clock.advance(10)
  const narrow = rig.ask(1, 10, to)
  await rig.clock.advance(10)
  assert.equal(rig.database.asked.length, 2)
  await rig.clock.advance(200)
  assert.equal((await narrow).text, rig.truth(10, to))
  await wide
})

test('an error of the database is fetched once per thread, and every request gets it', async () => {
  const rig = new ThreadRig(2, seededRandom(5))
  rig.database.lagMs = 50
  rig.database.failure = { status: 422, body: '{"error":"no"}' }
  const all = Array.from({ length: 20 }, (_, i) => rig.ask(i % 2, 30))
  await rig.clock.advance(1000)
  for (const { answer } of await Promise.all(all)) assert.equal(answer.kind, 'response')
  assert.ok(rig.database.asked.length <= 4, `${rig.database.asked.length}`)
  assert.equal(rig.openClaims, 0)
})

for (const hasFarStore of [false, true]) {
  const where = hasFarStore ? ', also where the main thread might know more' : ''
  test(`a slow database: the buckets of a thread are served stale${where}`, async () => {
    const rig = new ThreadRig(1, seededRandom(17), { hasFarStore })
    const first = rig.ask(0, 30)
    await rig.clock.advance(10)
    await first
    rig.database.lagMs = 60_000
    await rig.clock.advance(2 * minuteMs)
    const second = rig.ask(0, 30)
    await rig.clock.advance(11_000)
    const { decision, answer } = await second
    assert.deepEqual([answer.kind, decision.outcome, decision.reason], ['panes', 'stale', 'database_slow'])
  })
}

test('no request waits for a thread that has ended', async () => {
  const rig = new ThreadRig(2, seededRandom(11))
  rig.database.lagMs = 500
  void rig.ask(0, 30)
  await rig.clock.advance(50)
  const waiting = rig.ask(1, 30)
  await rig.clock.advance(50)
  assert.equal(rig.database.asked.length, 1)
  rig.kill(0)
  await rig.clock.advance(1000)
  assert.equal((await waiting).text, rig.truth(30))
  assert.equal(rig.database.asked.length, 2)
  assert.equal(rig.openClaims, 0)
  const again = rig.ask(0, 30)
  await rig.clock.advance(50)
  assert.equal((await again).decision.outcome, 'hit', 'its replacement queries the main thread')
})

test('a waiter in a thread that ends is not answered', async () => {
  const rig = new ThreadRig(2, seededRandom(13))
  rig.database.lagMs = 500
  const first = rig.ask(0, 30)
  await rig.clock.advance(50)
  void rig.ask(1, 30)
  await rig.clock.advance(50)
  rig.kill(1)
  await rig.clock.advance(1000)
  assert.equal((await first).text, rig.truth(30))
  assert.equal(rig.openClaims, 0)
})

/** The cost of a rolling window to the database over some time. */
async function cost(
  ask: (viewer: number, to: number) => Promise<Served>,
  rig: EngineRig | ThreadRig,
): Promise<number> {
  const random = seededRandom(21)
  rig.database.lagMs = 40
  let wrong = 0
  const refresh = (viewer: number) => {
    const to = rig.openCell + minuteMs
    void ask(viewer, to).then(({ text }) => {
      if (text !== rig.truth(60, to)) wrong++
    })
    rig.clock.after(10_000, () => refresh(viewer))
  }
  for (let viewer = 0; viewer < 12; viewer++) rig.clock.after(random() * 10_000, () => refresh(viewer))
  await rig.clock.advance(15 * minuteMs)
  assert.equal(wrong, 0)
  return rig.database.asked.length
}

test('two and three threads query the database at most a tenth more often than one', async () => {
  const alone = new EngineRig()
  const one = await cost((_, to) => alone.ask(60, to), alone)
  for (const threads of [2, 3]) {
    const rig = new ThreadRig(threads, seededRandom(threads))
    const queries = await cost((viewer, to) => rig.ask(viewer % threads, 60, to), rig)
    assert.ok(queries <= 1.1 * one, `${threads} threads: ${queries} queries, one: ${one}`)
  }
})

/** One of many concurrent tasks; the result of a thread that was ended is ignored. */
interface Task {
  isOver: boolean
  readonly matters: () => boolean
}

class RandomLife {
  readonly #rig: ThreadRig
  readonly #random: Random
  readonly #windowEnd: number
  readonly tasks: Task[] = []
  readonly mistakes: string[] = []
  answers = 0
  #purgedAt = Number.NEGATIVE_INFINITY

  constructor(rig: ThreadRig, random: Random) {
    this.#rig = rig
    this.#random = random
    this.#windowEnd = rig.openCell - 300 * minuteMs
  }

  async step(): Promise<void> {
    this.#rig.database.lagMs = wholeNumber(this.#random, 1, 80)
    const chance = this.#random()
    if (chance < 0.1) this.#purge()
    else if (chance < 0.13) this.#rig.kill(wholeNumber(this.#random, 0, 2))
    else this.#ask(wholeNumber(this.#random, 0, 2))
    await this.#rig.clock.advance(this.#random() * 40)
  }

  #purge(): void {
    const at = this.#rig.clock.now()
    this.#begin(
      this.#rig.purge.run({}).then(() => {
        this.#purgedAt = Math.max(this.#purgedAt, at)
      }),
      () => true,
    )
  }

  #ask(place: number): void {
    const to = this.#windowEnd + pick(this.#random, [0, 5, 10]) * minuteMs
    const [notBefore, thread] = [this.#purgedAt, this.#rig.threadAt(place)]
    const isAlive = () => this.#rig.threadAt(place) === thread
    const asking = this.#rig.ask(place, 30, to).then((served) => {
      if (!isAlive()) return
      this.answers++
      if (served.text !== this.#rig.truth(30, to)) this.mistakes.push(`wrong: ${served.text}`)
      else if (oldestIn(served) <= notBefore) this.mistakes.push('a bucket from before the purge')
    })
    this.#begin(asking, isAlive)
  }

  #begin(doing: Promise<void>, matters: () => boolean): void {
    const task: Task = { isOver: false, matters }
    this.tasks.push(task)
    void doing.then(() => {
      task.isOver = true
    })
  }
}

test('purged data comes back in no thread, whatever is in progress and however slow messages are', async () => {
  for (const seed of seeds) {
    const random = seededRandom(seed)
    const rig = new ThreadRig(3, random, { maxTransitMs: 30 })
    const life = new RandomLife(rig, random)
    for (let i = 0; i < 60; i++) await life.step()
    await rig.clock.advance(5000)
    assert.deepEqual(life.mistakes, [], `seed ${seed}`)
    assert.ok(life.answers > 20, `seed ${seed}: ${life.answers} answers`)
    const left = life.tasks.filter(({ isOver, matters }) => !isOver && matters())
    assert.equal(left.length, 0, `seed ${seed}: a request waits for ever`)
    assert.equal(rig.openClaims, 0, `seed ${seed}`)
    assert.equal(rig.held, 0, `seed ${seed}: memory is left reserved`)
  }
})
