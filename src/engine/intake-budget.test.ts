/**
 * Whatever becomes of a response and of its client: nothing of it stays counted, nothing waits for ever, and the client has all
 * of one response, or a part of one that is visibly broken, or nothing.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { ListeningTarget } from '../../test/rigs/listening-target.ts'
import type { Decomposed, Sink, Unusable } from '../backends/backend.ts'
import { Budget } from '../core/budget.ts'
import { noLimits } from '../core/lifetime.ts'
import { seededRandom } from '../testing/random.ts'
import { Backlog } from './backlog.ts'
import { Intake } from './intake.ts'

const KiB = 1024
const mostBytes = 3_000 * KiB

const random = seededRandom(1)
/** Cannot be compressed. */
const noise = Buffer.from(Uint8Array.from({ length: mostBytes }, () => 256 * random()))

/** A client that reads when it is told to. */
class LazyClient extends ListeningTarget {
  readonly taken: Uint8Array[] = []
  heads = 0
  #waiting: (() => void)[] = []

  override head(): void {
    this.heads++
  }

  override write(chunk: Uint8Array): boolean {
    assert.ok(this.heads > 0 && this.ending === undefined)
    this.taken.push(chunk)
    this.unsent += chunk.length
    return this.unsent < 64 * KiB
  }

  override onDrain(resume: () => void): void {
    this.#waiting.push(resume)
  }

  read(): void {
    this.unsent = 0
    for (const resume of this.#waiting.splice(0)) resume()
  }
}

/** Holds more than it is given; one that is picky throws, sooner or later. */
class HeavySink implements Sink {
  held = 0
  readonly #isPicky: boolean

  constructor(isPicky: boolean) {
    this.#isPicky = isPicky
  }

  write(chunk: Uint8Array): void {
    this.held += 2 * chunk.length
    if (this.#isPicky && this.held > 100 * KiB) throw new Error('no rows')
  }

  end(): Decomposed | Unusable {
    return this.#isPicky ? { unusable: 'no rows' } : { panes: [], storable: true }
  }
}

const some = fc.constantFrom

const response = fc.record({
  status: some(200, 200, 200, 400, 500),
  bytes: some(0, 10, 10 * KiB, 40 * KiB, 300 * KiB, mostBytes),
  isDense: fc.boolean(),
  encoding: some('', 'gzip', 'deflate'),
  damage: some('none', 'none', 'none', 'middle', 'behind the end'),
  hasLength: fc.boolean(),
  /** The share of it that arrives before it breaks off. */
  arrives: fc.oneof(some(1), fc.double({ min: 0, max: 1, noNaN: true })),
  pieces: some(1, 10, 60),
  isPicky: some(false, false, true),
})

const happenings = some('the client leaves', 'nobody waits', 'a turn', 'the client reads', 'other work')

const story = fc.record({
  responses: fc.tuple(response, response),
  client: some('none', 'plain', 'plain', 'held'),
  isTransparent: fc.boolean(),
  maxBacklog: some(1, 100 * KiB, 8_000 * KiB),
  memory: some(20 * KiB, 500 * KiB, 64_000 * KiB),
  maxAnswerBytes: some(50 * KiB, 10_000 * KiB),
  events: fc.array(fc.record({ before: fc.nat(60), what: happenings }), { maxLength: 8 }),
})

type Story = typeof story extends fc.Arbitrary<infer T> ? T : never
type Told = Story['responses'][number]

function bodyOf({ bytes, isDense, encoding, damage }: Told): Buffer {
  const plain = isDense ? noise.subarray(0, bytes) : Buffer.alloc(bytes, 'abcdefgh')
  if (encoding === '') return plain
  const body = encoding === 'gzip' ? gzipSync(plain) : deflateSync(plain)
  if (damage === 'middle') body.fill(0xff, body.length >> 1)
  return damage === 'behind the end' ? Buffer.concat([body, Buffer.alloc(200 * KiB)]) : body
}

/** One response, its database, its client, and all that may happen to them. */
class Scene {
  readonly client = new LazyClient()
  readonly budget: Budget
  readonly backlog: Backlog
  readonly intake: Intake
  /** The encoded body of the last response. */
  body: Buffer = Buffer.alloc(0)
  hasClient: boolean
  readonly #story: Story
  readonly #turns: (() => void)[] = []
  #piece = 0
  #attempt = 0
  #isPaused = false
  #isCancelled = false
  #wake = () => {}

  constructor(told: Story) {
    this.#story = told
    this.hasClient = told.client !== 'none'
    this.budget = new Budget(told.memory)
    const afterTurn = (action: () => void) => this.#turns.push(action)
    this.backlog = new Backlog({ elapsed: () => 0 }, { maxBytes: told.maxBacklog, afterTurn })
    this.intake = new Intake({
      ...{ fetchedAt: 0, budget: this.budget, backlog: this.backlog, maxAnswerBytes: told.maxAnswerBytes },
      target: this.hasClient ? this.client : undefined,
      ...(told.client === 'held' ? { withheldBytes: 256 * KiB } : { isTransparent: told.isTransparent }),
      termsOf: () => ({ limits: noLimits }),
      newSink: () => new HeavySink(told.responses[this.#attempt]!.isPicky),
      land: async () => {},
    })
    const becomes = (isPaused: boolean, isCancelled = this.#isCancelled) => {
      this.#isPaused = isPaused
      this.#isCancelled = isCancelled
      this.#wake()
    }
    this.intake.sent({
      cancel: () => becomes(false, true),
      pause: () => becomes(true),
      resume: () => becomes(false),
    })
  }

  async play(): Promise<void> {
    for (const told of this.#story.responses) {
      await this.#arrive(told)
      if (this.#isCancelled) break
      if (told.arrives === 1) return this.intake.end([])
      if (this.#attempt++ > 0 || !this.intake.restart())
        return this.intake.failed({ reason: 'database_unreachable', detail: 'reset' })
      assert.ok(!this.hasClient || this.client.heads === 0, 'it has a part of another response')
    }
  }

  runTurns(): void {
    while (this.#turns.length > 0) this.#turns.shift()!()
  }

  async #arrive(told: Told): Promise<void> {
    const { status, encoding, hasLength, arrives, pieces } = told
    this.body = bodyOf(told)
    const { length } = this.body
    const headers = encoding === '' ? [] : ['Content-Encoding', encoding]
    this.intake.head(status, hasLength ? [...headers, 'Content-Length', `${length}`] : headers)
    const step = Math.ceil(length / pieces)
    const end = Math.floor(arrives * length)
    for (let at = 0; at < end; at += step) {
      await this.#happen()
      await this.#untilResumed()
      if (this.#isCancelled) return
      this.intake.data(this.body.subarray(at, Math.min(end, at + step)))
    }
    await this.#untilResumed()
  }

  async #happen(): Promise<void> {
    const now = this.#piece++
    for (const { before, what } of this.#story.events) {
      if (before !== now) continue
      if (what === 'a turn') this.#turns.shift()?.()
      else if (what === 'the client reads') this.client.read()
      else if (what === 'other work') await turnOfTheLoop()
      else {
        this.hasClient = false
        if (what === 'the client leaves') this.intake.dropTarget()
        else this.intake.cancel()
      }
    }
  }

  /** Where neither the client nor the next turns are in the way, a decoder is. */
  async #untilResumed(): Promise<void> {
    while (this.#isPaused) {
      this.runTurns()
      this.client.read()
      if (this.#isPaused)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}

test('nothing of a response stays counted, whatever becomes of it and of its client', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const scene = new Scene(told)
      const { client, intake, budget, backlog } = scene
      await scene.play()
      scene.runTurns()
      await intake.result
      client.read()
      if (scene.hasClient && client.heads > 0) await intake.delivered
      await turnOfTheLoop()
      assert.equal(budget.used, 0)
      const nobody = { isHolding: true, splitNext() {}, proceed() {} }
      assert.ok(backlog.hold(told.maxBacklog - 1, nobody), 'the backlog has bytes')
      if (!scene.hasClient) return
      assert.equal(client.heads > 0, client.ending !== undefined)
      if (client.ending === 'whole') assert.ok(Buffer.concat(client.taken).equals(scene.body))
    }),
    { numRuns: 150 },
  )
})

test('compressed bytes of which nothing is decoded count, too, for as long as there is room', async () => {
  const client = new LazyClient()
  const budget = new Budget(500 * KiB)
  const intake = new Intake({
    ...{ fetchedAt: 0, budget, maxAnswerBytes: mostBytes, target: client },
    backlog: new Backlog({ elapsed: () => 0 }),
    termsOf: () => ({ limits: noLimits }),
    newSink: () => new HeavySink(false),
    land: async () => {},
  })
  intake.sent({ cancel() {}, pause() {}, resume() {} })
  intake.head(200, ['Content-Encoding', 'gzip'])
  // The head of a gzip body, and blocks that are empty.
  const pieces = [gzipSync('').subarray(0, 10)]
  const nothing = Buffer.alloc(10 * KiB, Buffer.from('000000ffff', 'hex'))
  for (let sent = 0; client.heads === 0; sent += pieces.at(-1)!.length, pieces.push(nothing)) {
    assert.equal(budget.used, sent)
    intake.data(pieces.at(-1)!)
  }
  const result = await intake.result
  assert.ok(result.kind === 'unusable' && result.reason === 'memory_exhausted')
  assert.ok(Buffer.concat(client.taken).equals(Buffer.concat(pieces.slice(0, -1))))
  intake.dropTarget()
  await intake.delivered
  assert.equal(budget.used, 0)
})
