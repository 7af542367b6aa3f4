/** A backend that throws while it takes an answer in: everybody is answered all the same, by the database itself. */
import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Backend, Sink } from '../../src/backends/backend.ts'
import { matrixOf } from '../coalescing/matrix.ts'
import { direct, openServer, type ProxyRig, scene } from '../coalescing/proxy-rig.ts'
import { type Asked, silent } from '../coalescing/upstream.ts'
import { type Answer, outcomeOf, read, type Visit } from '../coalescing/viewer.ts'
import { until } from '../proxy/client.ts'

const window = { from: 0, to: 100 }
const begin = { from: 0, to: 60 }

const fail = (): never => {
  throw new RangeError('Array buffer allocation failed')
}

/** Sinks with some of their members replaced while `isFailing`; or none at all. */
function failing(replaced: Partial<Sink> | 'none'): {
  isFailing: boolean
  wrapBackend: (backend: Backend) => Backend
} {
  const state = {
    isFailing: false,
    wrapBackend: (backend: Backend): Backend => ({
      ...backend,
      decompose(plan, interval) {
        const sink = backend.decompose(plan, interval)
        if (!state.isFailing) return sink
        if (replaced === 'none') return fail()
        return {
          write: replaced.write ?? ((chunk) => sink.write(chunk)),
          end: replaced.end ?? ((fetchedAt, response) => sink.end(fetchedAt, response)),
          get held() {
            return replaced.held ?? sink.held
          },
        }
      },
    }),
  }
  return state
}

function answerIn(encoding: string, { response, range }: Asked): void {
  const body = matrixOf(range)
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding })
  // In two pieces, so that something comes after an exception in `write` too.
  const bytes = encoding === 'gzip' ? gzipSync(body) : Buffer.from(body)
  response.write(bytes.subarray(0, bytes.length / 2), () => response.end(bytes.subarray(bytes.length / 2)))
}

async function textOf(visit: Visit, encoding: string): Promise<Answer> {
  const message = await visit.head
  const { body, isWhole } = encoding === 'gzip' ? await unpacked(message) : await read(message)
  return { status: message.statusCode!, headers: message.headers, body, isWhole }
}

async function unpacked(message: Awaited<Visit['head']>): Promise<{ body: string; isWhole: boolean }> {
  const bytes = Buffer.concat(await message.toArray())
  return { body: gunzipSync(bytes).toString(), isWhole: message.complete }
}

/** One leader, and one request that waits with it; then the database answers. */
async function askTwice(proxy: ProxyRig, encoding: string): Promise<Answer[]> {
  const before = proxy.asked.length
  const options = { headers: { 'accept-encoding': encoding }, isReading: false }
  proxy.upstream.script = silent
  const leader = await proxy.askAndSettle(window, options)
  const query = await proxy.upstream.untilAsked(before + 1)
  const waiter = await proxy.askAndSettle(window, options)
  proxy.upstream.script = (asked) => answerIn(encoding, asked)
  answerIn(encoding, query)
  const answers: Answer[] = []
  const visits = [leader, waiter]
  visits.forEach(async (visit, i) => {
    answers[i] = await textOf(visit, encoding)
  })
  // A missing event fails here, with a name, and not at the end of the scene's time.
  await until(() => visits.every((_, i) => answers[i] !== undefined))
  return answers
}

const sinks: Readonly<Record<string, Partial<Sink> | 'none'>> = {
  'cannot be made': 'none',
  'throws in write': { write: fail },
  'throws in end': { end: fail },
  'holds more than 2³¹ bytes': { held: 2 ** 31 + 1, end: fail },
}

for (const [what, replaced] of Object.entries(sinks)) {
  for (const encoding of ['identity', 'gzip']) {
    scene(`a sink that ${what}, on a miss, ${encoding}: leader and waiter are answered`, async (t) => {
      const state = failing(replaced)
      const proxy = await openServer(t, state)
      state.isFailing = true
      const [leader, waiter] = await askTwice(proxy, encoding)
      assert.deepEqual([outcomeOf(leader!), leader!.body], ['miss/absent', direct(window)])
      assert.match(outcomeOf(waiter!), /^bypass\/(?:unusable_answer|answer_too_large)$/)
      assert.deepEqual([waiter!.status, waiter!.body], [200, direct(window)])
      assert.ok(leader!.isWhole && waiter!.isWhole)
      state.isFailing = false
      await proxy.assertNothingLeft(window)
    })

    scene(
      `a sink that ${what}, on a partial answer, ${encoding}: leader and waiter are answered`,
      async (t) => {
        const state = failing(replaced)
        const proxy = await openServer(t, state)
        await proxy.ask(begin).answer
        state.isFailing = true
        for (const answer of await askTwice(proxy, encoding)) {
          assert.match(outcomeOf(answer), /^bypass\/(?:unusable_answer|answer_too_large)$/)
          assert.deepEqual([answer.status, answer.body, answer.isWhole], [200, direct(window), true])
        }
        state.isFailing = false
        assert.equal(outcomeOf(await proxy.ask(begin).answer), 'hit')
        await proxy.assertNothingLeft(window)
      },
    )
  }
}
