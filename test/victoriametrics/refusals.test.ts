/**
 * Why some queries are passed on: on the real server, their values change when a request is cut in two. A query that no
 * longer does may be allowed. The data and the cuts are the same in every run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiClient } from '../fidelity/client.ts'
import { type Cut, isSame, someCut } from '../fidelity/cuts.ts'
import { seededRandom } from '../fidelity/random.ts'
import { END, lines, START } from './dataset.ts'
import { startDatabase } from './under-test.ts'

const dependent = [
  'steady',
  'flappy',
  'slow',
  'rate(flappy[1m])',
  'idelta(flappy[1m])',
  'changes(flappy[1m])',
  'resets(flappy[1m])',
  'timestamp(flappy)',
  'scalar(fleeting{host=~"a|b"}[1m])',
  'sgn(flappy[16s])',
  '1 ^ last_over_time(flappy[16s])',
  'last_over_time(gappy[1m]) != last_over_time(flappy[16s])',
  'last_over_time(gappy[1m]) > bool last_over_time(flappy[16s])',
  'sum(absent_over_time(fleeting[16s]))',
  'max((absent_over_time(fleeting[16s])))',
  'sum(+absent_over_time(fleeting[16s]))',
  'sum(# a comment\nabsent_over_time(fleeting[16s]))',
  'stddev(last_over_time(flappy[1s]) * Inf)',
  'stdvar(last_over_time(flappy[1s]) * Inf)',
]
const local = [
  'last_over_time(flappy[16s])',
  'sum(sum_over_time(flappy[1m]))',
  'absent_over_time(fleeting[16s])',
  'sum(abs(absent_over_time(fleeting[16s])))',
  'sum(-absent_over_time(fleeting[16s]))',
  'quantile(0.5, absent_over_time(fleeting[16s]))',
]

const maxCuts = 400

const cutOf = (number: number): Cut => someCut(seededRandom(7, number), { from: START, to: END })

test('forwarded queries change when they are cut, and cached ones do not', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(lines())
  const client = new ApiClient(server.url)
  t.after(() => client.close())
  for (const query of dependent) {
    let number = 0
    while (number < maxCuts && (await isSame(client, query, cutOf(number)))) number++
    t.diagnostic(`${query}: after ${number} cuts`)
    assert.ok(number < maxCuts, `${query} was the same in ${maxCuts} cuts`)
  }
  for (const query of local) {
    for (let number = 0; number < maxCuts / 4; number++) {
      assert.ok(await isSame(client, query, cutOf(number)), `${query}, cut ${number}`)
    }
  }
})
