import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ListeningTarget } from '../../test/rigs/listening-target.ts'
import type { Sink } from '../backends/backend.ts'
import { Budget } from '../core/budget.ts'
import { noLimits } from '../core/lifetime.ts'
import { Backlog } from './backlog.ts'
import type { DatabaseFailure, DatabaseRefusal } from './fetch.ts'
import { Intake, type IntakeOptions } from './intake.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** A client and a sink that record their input, and turns of the event loop under the control of the test. */
function setUp(options: Partial<IntakeOptions> = {}) {
  const turns: (() => void)[] = []
  const told: string[] = []
  const target = new ListeningTarget()
  target.head = (status) => void told.push(`head ${status}`)
  target.write = () => told.push('raw') > 0
  target.end = () => void told.push('whole')
  target.abort = () => void told.push('broken')
  const sink: Sink = {
    held: 0,
    write: () => void told.push('split'),
    end: () => ({ panes: [], storable: true }),
  }
  const budget = new Budget(256 * MiB)
  const backlog = new Backlog({ elapsed: () => 0 }, { afterTurn: (action) => turns.push(action) })
  let isPaused = false
  const intake = new Intake({
    ...{ fetchedAt: 0, newSink: () => sink, budget, backlog, maxAnswerBytes: 64 * MiB, target },
    termsOf: () => ({ limits: noLimits }),
    onDelivered: () => void told.push('delivered'),
    land: async ({ kind }) => void told.push(kind),
    ...options,
  })
  intake.sent({
    cancel: () => void told.push('cancelled'),
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
    },
  })
  const runTurns = () => {
    while (turns.length > 0) turns.shift()!()
  }
  const call = {
    get isPaused() {
      return isPaused
    },
  }
  const arrive = (bytes: number) => intake.data(Buffer.alloc(bytes))
  return {
    intake,
    target,
    budget,
    backlog,
    call,
    turns,
    runTurns,
    arrive,
    told: () => told.splice(0).join(' '),
  }
}

test('a client has all of a large response before any of it is split', () => {
  const { intake, runTurns, arrive, told } = setUp()
  intake.head(200, [])
  arrive(60 * KiB)
  arrive(60 * KiB)
  runTurns()
  intake.end([])
  assert.equal(told(), 'head 200 raw raw delivered whole')
  runTurns()
  assert.equal(told(), 'split split panes')
})

test('a short response is split as soon as it has arrived', () => {
  const { intake, arrive, told, turns } = setUp()
  intake.head(200, [])
  arrive(60 * KiB)
  intake.end([])
  assert.equal(told(), 'head 200 raw delivered whole split panes')
  assert.equal(turns.length, 0)
})

test('a response that no client is given is split as it arrives', () => {
  const { intake, runTurns, arrive, told } = setUp({ target: undefined })
  intake.head(200, [])
  arrive(60 * KiB)
  runTurns()
  assert.equal(told(), 'split')
  arrive(60 * KiB)
  arrive(60 * KiB)
  intake.end([])
  runTurns()
  assert.equal(told(), 'split split panes')
})

test('no more than 2 MiB of a response wait to be split', () => {
  const { intake, runTurns, arrive, told } = setUp()
  intake.head(200, [])
  for (let i = 0; i < 9; i++) arrive(256 * KiB)
  runTurns()
  assert.equal(told().split('split').length - 1, 9)
})

test('with 8 MiB waiting to be split the database waits', () => {
  const turns: (() => void)[] = []
  const backlog = new Backlog({ elapsed: () => 0 }, { afterTurn: (action) => turns.push(action) })
  const { intake, arrive, call } = setUp({ backlog })
  intake.head(200, [])
  arrive(7 * MiB)
  assert.equal(call.isPaused, false)
  arrive(MiB)
  assert.equal(call.isPaused, true)
  while (turns.length > 0) turns.shift()!()
  assert.equal(call.isPaused, false)
})

test('an abandoned response is not split any more', () => {
  const { intake, runTurns, arrive, told } = setUp()
  intake.head(200, [])
  arrive(100 * KiB)
  intake.end([])
  told()
  intake.cancel()
  runTurns()
  assert.equal(told(), 'cancelled abandoned')
})

test('once nothing is kept the client sets the pace', () => {
  const { intake, target, runTurns, call } = setUp({ maxAnswerBytes: 3 * MiB })
  let drain = () => {}
  target.write = () => false
  target.onDrain = (resume) => {
    drain = resume
  }
  intake.head(200, [])
  for (let i = 0; i < 3; i++) intake.data(Buffer.alloc(MiB))
  assert.equal(call.isPaused, false)
  intake.data(Buffer.alloc(1))
  runTurns()
  intake.data(Buffer.alloc(1))
  assert.equal(call.isPaused, true)
  drain()
  assert.equal(call.isPaused, false)
})

test('what a client has not read counts until it has all of a response that is not kept', async () => {
  const { intake, target, budget, backlog, arrive } = setUp({ maxAnswerBytes: 50 * KiB })
  intake.head(200, [])
  target.unsent = 60 * KiB
  target.write = () => false
  target.onDrain = () => {}
  arrive(60 * KiB)
  backlog.finish()
  assert.equal((await intake.result).kind, 'unusable')
  assert.equal(budget.used, 60 * KiB)
  intake.end([])
  await intake.delivered
  assert.equal(budget.used, 0)
})

test('what a client has not read of a whole response is counted by the client alone', async () => {
  const budget = new Budget(100 * KiB)
  const { intake, target, backlog, arrive } = setUp({ budget })
  target.unsent = 60 * KiB
  let isCounted = false
  target.end = () => {
    isCounted = budget.reserve(60 * KiB)
  }
  intake.head(200, [])
  arrive(60 * KiB)
  backlog.finish()
  assert.equal(budget.used, 60 * KiB)
  arrive(KiB)
  intake.end([])
  assert.equal(isCounted, true)
  assert.equal((await intake.result).kind, 'panes')
  assert.equal(budget.used, 60 * KiB)
})

test('a response that breaks off may be taken again until the client has a byte of it', () => {
  const { intake, arrive, told } = setUp()
  intake.head(200, ['X', '1'])
  assert.equal(intake.restart(), true)
  intake.head(503, [])
  arrive(10)
  assert.equal(intake.restart(), true, 'server errors are kept from the client')
  intake.head(200, [])
  arrive(10)
  assert.equal(told(), 'head 200 raw')
  assert.equal(intake.restart(), false)
  intake.failed({ reason: 'database_unreachable', detail: 'reset' })
  assert.equal(told(), 'broken broken')
})

test('of a response that is taken again only the second is kept', async () => {
  const written: number[] = []
  let sinks = 0
  const newSink = (): Sink => {
    sinks++
    return {
      held: 0,
      write: (chunk) => void written.push(chunk[0]!),
      end: () => ({ panes: [], storable: true }),
    }
  }
  const { intake } = setUp({ target: undefined, newSink })
  for (const value of [1, 2]) {
    intake.head(200, [])
    intake.data(Buffer.alloc(10, value))
    if (value === 1) assert.equal(intake.restart(), true)
  }
  intake.end([])
  assert.equal((await intake.result).kind, 'panes')
  assert.deepEqual([sinks, written], [2, [2]])
})

test('the body of an error counts until it is handed on', async () => {
  const { intake, budget, runTurns, arrive } = setUp({ target: undefined })
  intake.head(400, [])
  arrive(40 * KiB)
  runTurns()
  assert.equal(budget.used, 40 * KiB)
  intake.end([])
  const { kind, response } = (await intake.result) as DatabaseRefusal
  assert.deepEqual([kind, response.body.length, budget.used], ['refused', 40 * KiB, 0])
})

for (const [status, ending] of [
  [400, 'head 400 raw raw whole unusable cancelled'],
  [500, 'cancelled broken'],
] as const) {
  test(`the body of an error ${status} that memory has no room for is not kept`, async () => {
    const { intake, budget, runTurns, arrive, told } = setUp({ budget: new Budget(50 * KiB) })
    intake.head(status, [])
    arrive(40 * KiB)
    arrive(40 * KiB)
    intake.end([])
    runTurns()
    assert.equal(told().replace('delivered ', ''), ending)
    const result = (await intake.result) as DatabaseFailure
    assert.match(result.detail, /after 81920 bytes/)
    assert.equal(budget.used, 0)
  })
}

test('a client that has nothing of a response that fails is left to be answered otherwise', async () => {
  const { intake, told } = setUp()
  intake.head(200, [])
  intake.failed({ reason: 'database_timeout', detail: 'silence' })
  assert.equal(told(), 'broken')
  assert.deepEqual([(await intake.result).kind, intake.isStreaming], ['broken', false])
})

for (const isTransparent of [false, true]) {
  test(`a broken encoding ${isTransparent ? 'is passed on' : 'is kept from the client'}`, async () => {
    const { intake, told } = setUp({ isTransparent })
    intake.head(200, ['Content-Encoding', 'gzip'])
    intake.data(gzipSync('x'.repeat(1000)).fill(0, 12, 16))
    intake.end([])
    await intake.result
    assert.equal(
      told(),
      isTransparent ? 'head 200 raw delivered whole unusable cancelled' : 'cancelled broken',
    )
  })
}

test('a client with the Content-Length of a long encoded response waits only until its beginning is decoded', async () => {
  const { intake, told } = setUp()
  const body = gzipSync(randomBytes(100 * KiB))
  intake.head(200, ['Content-Encoding', 'gzip', 'Content-Length', String(body.length)])
  intake.data(body)
  intake.end([])
  assert.equal(told(), '')
  await intake.result
  assert.match(told(), /^head 200 raw delivered whole split split .* panes$/)
})

test('a client of a long encoded response that is broken further on is cut off', async () => {
  const { intake, told } = setUp()
  const body = gzipSync(randomBytes(100 * KiB))
  intake.head(200, ['Content-Encoding', 'gzip'])
  intake.data(body.subarray(0, 90 * KiB))
  intake.end([])
  await intake.result
  assert.match(told(), /^head 200 raw split .* cancelled broken broken$/)
})

test('a short encoded response is given to its client when all of it is decoded', async () => {
  const { intake, told } = setUp()
  intake.head(200, ['Content-Encoding', 'gzip'])
  intake.data(gzipSync('x'.repeat(1000)))
  intake.end([])
  assert.equal(told(), '')
  await intake.result
  await turnOfTheLoop()
  assert.equal(told(), 'split delivered head 200 raw whole panes')
})
