/** Other processes: killed at any moment, writing at the same time, reading data that was written before they began. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { HANG_MS } from '../wait.ts'
import { scratchDirectory, scratchStore } from './scratch.ts'
import { checkStore, entryOf, keyNumber } from './truth.ts'

const clock = systemClock
const shapes = 12
const script = fileURLToPath(import.meta.resolve('./child.ts'))

/** A child that is killed with its test; `rounds` is how often it reported a write. */
class Child {
  rounds = 0
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  #said = ''
  #isKilled = false
  #onRound = (): void => {}

  constructor(t: TestContext, what: string, directory: string, seed: number) {
    this.#process = spawn(process.execPath, [script, what, directory, String(seed), String(shapes)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, WINDOWPANE_CRASH_LIMIT: 'none' },
    })
    this.#ended = once(this.#process, 'exit')
    this.#process.stdout!.on('data', (text: Buffer) => {
      this.rounds += text.toString().split('\n').length - 1
      this.#onRound()
    })
    this.#process.stderr!.on('data', (text: Buffer) => {
      this.#said += text.toString()
    })
    t.after(() => this.kill())
  }

  /** Resolves when it has written so often. */
  async reach(rounds: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#onRound = () => void (this.rounds >= rounds && resolve())
      this.#onRound()
    })
    const died = this.#ended.then((how) =>
      assert.ok(this.#isKilled, `it ended by itself (${how}): ${this.#said}`),
    )
    await Promise.race([reached, died])
  }

  async kill(): Promise<void> {
    this.#isKilled = true
    this.#process.kill('SIGKILL')
    await this.#ended
  }
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))

const noShell = spawnSync('bash', ['-c', 'true']).status === 0 ? false : 'needs bash'
const sharing = { clock, crashLimit: Number.POSITIVE_INFINITY }

test('kill -9, fifty times in the middle of writing: every readable bucket is right', async (t) => {
  const directory = scratchDirectory()
  const random = seededRandom(4711)
  let most = 0
  // The next writer starts while the file is checked: it also stands for a process that takes over.
  let writer = new Child(t, 'write', directory, 1)
  for (let round = 1; round <= 50; round++) {
    await writer.reach(1)
    await wait(wholeNumber(random, 0, 60))
    await writer.kill()
    writer = new Child(t, 'write', directory, round + 1)
    const store = await scratchStore({ ...sharing, directory })
    most = Math.max(most, await checkStore(store, shapes))
    assert.equal(store.health.state, 'ok')
    assert.equal(store.counters.damagedValues, 0)
    await store.close()
  }
  await writer.kill()
  assert.ok(most > 1000, 'the writers wrote')
  t.diagnostic(`up to ${most} buckets were read`)
})

test('two processes write and read one file: neither ever sees a wrong bucket', async (t) => {
  const directory = scratchDirectory()
  const both = [1, 2].map((seed) => new Child(t, 'write-and-check', directory, seed))
  const store = await scratchStore({ ...sharing, directory })
  await Promise.all(both.map((child) => child.reach(40)))
  for (let i = 0; i < 20; i++) {
    assert.ok((await checkStore(store, shapes)) > 0)
    await wait(5)
  }
  await Promise.all(both.map((child) => child.kill()))
  await store.close()
})

test('a new process reads the writes of the one before, and reports them at once', async (t) => {
  const directory = scratchDirectory()
  const store = await scratchStore({ clock, directory })
  const now = clock.now()
  for (let n = 0; n < shapes; n++)
    await store.write(
      keyNumber(n),
      entryOf(n, { from: Math.floor(now / 1000) - 500, to: Math.floor(now / 1000) }, now),
    )
  await store.close()
  const { stdout, stderr } = spawnSync(process.execPath, [script, 'check', directory, '1', String(shapes)])
  const said = JSON.parse(stdout.toString() || '{}') as { buckets?: number; ms?: number }
  assert.equal(said.buckets, 500 * shapes, stderr.toString())
  t.diagnostic(`${said.ms} ms from opening to the last bucket`)
})

test('a reader that died is found and does not keep pages from being used again', async (t) => {
  const directory = scratchDirectory()
  const writer = new Child(t, 'write-and-check', directory, 3)
  await writer.reach(3)
  const store = await scratchStore({ ...sharing, directory })
  await writer.kill()
  await store.maintain()
  assert.ok(store.counters.deadReaders >= 1, 'the dead reader was not found')
  await store.close()
})

test('a file that cannot grow: writes fail, everything else goes on', { skip: noShell }, () => {
  const directory = scratchDirectory()
  // Without its signal, a file limit is an error of the write, as a full disk is.
  const limited = `trap '' XFSZ; ulimit -f 2048; exec "$0" "$@"`
  const { stdout, stderr, status } = spawnSync(
    'bash',
    ['-c', limited, process.execPath, script, 'fill', directory, '1', '60'],
    { timeout: HANG_MS },
  )
  assert.equal(status, 0, stderr.toString())
  const said = JSON.parse(stdout.toString()) as {
    buckets: number
    health: { state: string }
    counters: { failures: number }
  }
  assert.ok(said.buckets >= 3000, `${said.buckets} buckets`)
  assert.equal(said.health.state, 'degraded')
  assert.ok(said.counters.failures >= 1)
})
