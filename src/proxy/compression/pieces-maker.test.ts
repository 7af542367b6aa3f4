import assert from 'node:assert/strict'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'
import { type Block, makeBlocks, type PieceJob } from './pieces-block.ts'
import { ThreadMaker } from './pieces-maker.ts'

const text = 'what is repeated is repeated is repeated '.repeat(20)

/** Two places in two blocks; the second place has nothing in the first. */
const newJob = (): PieceJob => ({
  blocks: 2,
  raw: new Uint8Array(Buffer.from(text + text)),
  sizes: Uint32Array.of(text.length, 10, 0, text.length - 10),
})

function makerOf(t: TestContext, start?: () => Worker): ThreadMaker {
  const maker = new ThreadMaker(start)
  t.after(() => maker.close())
  return maker
}

const made = (maker: ThreadMaker, job = newJob()): Promise<readonly Block[] | undefined> =>
  new Promise((resolve) => assert.ok(maker.make(job, resolve), 'the job was not taken'))

test('the thread makes the same pieces as this one', async (t) => {
  const maker = makerOf(t)
  const [first, second] = await Promise.all([made(maker), made(maker)])
  assert.deepEqual(first, makeBlocks(newJob()))
  assert.deepEqual(second, first)
})

test('a job that breaks the thread is answered, and the next one has another thread', async (t) => {
  const maker = makerOf(t)
  assert.ok(await made(maker))
  const broken = { ...newJob(), blocks: -1 }
  const [lost, alsoLost] = await Promise.all([made(maker, broken), made(maker)])
  assert.deepEqual([lost, alsoLost], [undefined, undefined])
  assert.ok(await made(maker))
})

const dying = () => new Worker('process.exit(1)', { eval: true })

test('a thread that always dies is not started forever', async (t) => {
  let starts = 0
  const maker = makerOf(t, () => {
    starts++
    return dying()
  })
  for (let i = 0; i < 3; i++) assert.equal(await made(maker), undefined)
  assert.equal(
    maker.make(newJob(), () => assert.fail('not taken')),
    false,
  )
  assert.equal(starts, 3)
})

test('where no thread can be started no job is taken', (t) => {
  const maker = makerOf(t, () => {
    throw new Error('no more threads')
  })
  for (let i = 0; i < 5; i++) {
    assert.equal(
      maker.make(newJob(), () => assert.fail('not taken')),
      false,
    )
  }
})

test('a thread that never answers is given four jobs and no more; closing answers them', (t) => {
  const maker = makerOf(t, () => new Worker('setInterval(() => {}, 1e6)', { eval: true }))
  const answers: unknown[] = []
  for (let i = 0; i < 4; i++) assert.ok(maker.make(newJob(), (blocks) => answers.push(blocks)))
  assert.equal(
    maker.make(newJob(), () => {}),
    false,
  )
  maker.close()
  assert.deepEqual(answers, [undefined, undefined, undefined, undefined])
  assert.equal(
    maker.make(newJob(), () => {}),
    false,
  )
})

test('no thread before the first job, and closing ends it', async (t) => {
  let worker: Worker | undefined
  const maker = makerOf(t, () => {
    worker = new Worker('require("node:worker_threads").parentPort.on("message", () => {})', { eval: true })
    return worker
  })
  assert.equal(worker, undefined)
  maker.make(newJob(), () => {})
  const ended = once(worker!, 'exit')
  maker.close()
  await ended
})
