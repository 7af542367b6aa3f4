/** Pieces that a worker has made by the thread of the main thread. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBlocks, type PieceJob } from '../proxy/compression/pieces-block.ts'
import type { Delivery, PieceMaker } from '../proxy/compression/pieces-maker.ts'
import { makePieces, RemotePieceMaker } from './pieces.ts'

const text = 'what is repeated is repeated is repeated '.repeat(20)

const newJob = (): PieceJob => ({
  blocks: 1,
  raw: new Uint8Array(Buffer.from(text)),
  sizes: Uint32Array.of(text.length),
})

/** Makes nothing before the test releases it. */
class HeldMaker implements PieceMaker {
  readonly #waiting: (() => void)[] = []
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  make(job: PieceJob, deliver: Delivery): boolean {
    if (this.#waiting.length >= this.#most) return false
    this.#waiting.push(() => deliver(makeBlocks(job)))
    return true
  }

  run(): void {
    for (const make of this.#waiting.splice(0)) make()
  }

  close(): void {}
}

function remoteOf(maker: PieceMaker): RemotePieceMaker {
  const remote = new RemotePieceMaker((message, moved) => {
    const sent = structuredClone(message, { transfer: [...moved] })
    makePieces(maker, sent, (reply, back) => remote.receive(structuredClone(reply, { transfer: [...back] })))
  })
  return remote
}

test('pieces come back, in memory that moves from thread to thread', () => {
  const maker = new HeldMaker(4)
  const remote = remoteOf(maker)
  const [job, made]: [PieceJob, unknown[]] = [newJob(), []]
  assert.equal(
    remote.make(job, (blocks) => made.push(blocks)),
    true,
  )
  assert.equal(job.raw.length, 0)
  maker.run()
  assert.deepEqual(made, [makeBlocks(newJob())])
})

test('a job that the main thread does not take is answered, and no more than four wait', () => {
  const made: unknown[] = []
  const deliver: Delivery = (blocks) => made.push(blocks)
  const busy = remoteOf(new HeldMaker(0))
  for (let i = 0; i < 5; i++) assert.equal(busy.make(newJob(), deliver), true)
  assert.deepEqual(made, Array(5).fill(undefined))
  const slow = remoteOf(new HeldMaker(9))
  assert.deepEqual(
    Array.from({ length: 5 }, () => slow.make(newJob(), deliver)),
    [true, true, true, true, false],
  )
})

test('closing answers what waits', () => {
  const maker = new HeldMaker(4)
  const remote = remoteOf(maker)
  const made: unknown[] = []
  remote.make(newJob(), (blocks) => made.push(blocks))
  remote.close()
  maker.run()
  assert.deepEqual(made, [undefined])
})
