/** Requests that are cut in two on the server itself: what may be cached has the same points in parts and as a whole. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ApiClient } from './client.ts'
import { someExpression, type Vocabulary } from './expressions.ts'
import { type Random, seededRandom } from './random.ts'
import { fromEnvironment } from './setup.ts'

export interface Cut {
  /** Seconds. */
  readonly step: number
  readonly start: number
  readonly points: number
  /** How many points the first part has. */
  readonly at: number
}

type Span = { readonly from: number; readonly to: number }

/** A window within `span` (milliseconds), and where it is cut. */
export function someCut(random: Random, { from, to }: Span): Cut {
  const points = random.int(3, 30)
  return {
    points,
    step: random.pick([5, 7, 15, 60]),
    start: random.int(from / 1000, to / 1000 - 3600),
    at: random.pick([1, points - 1, random.int(1, points - 1)]),
  }
}

interface Series {
  readonly metric: object
  readonly values?: readonly unknown[]
}

/** Every point of a number with its labels, in any order; undefined for an error. */
async function pointsOf(
  client: ApiClient,
  query: string,
  { step, start, points }: Omit<Cut, 'at'>,
): Promise<string[] | undefined> {
  const window = { start: `${start}`, end: `${start + (points - 1) * step}`, step: `${step}` }
  // VictoriaMetrics would move windows of 50 points and more.
  const range = new URLSearchParams({ query, ...window, nocache: '1' })
  const { status, body } = await client.get(`/api/v1/query_range?${range}`)
  if (status !== 200) return undefined
  const { data } = JSON.parse(body.toString()) as { readonly data: { readonly result: readonly Series[] } }
  return data.result.flatMap(({ metric, values = [] }) =>
    values.map((point) => rounded(JSON.stringify([metric, point]))),
  )
}

/** The last digits of a sum depend on the order of its series, and that on the range. */
const rounded = (text: string): string =>
  text.replace(/"-?\d[\d.]*(?:e[+-]?\d+)?"/g, (number) => Number(number.slice(1, -1)).toPrecision(9))

/** Whether the parts together have the points of the whole. Where the whole is an error, one of the parts has to be one. */
export async function isSame(client: ApiClient, query: string, cut: Cut): Promise<boolean> {
  const { step, start, points, at } = cut
  const [whole, head, tail] = await Promise.all([
    pointsOf(client, query, cut),
    pointsOf(client, query, { step, start, points: at }),
    pointsOf(client, query, { step, start: start + at * step, points: points - at }),
  ])
  if (head === undefined || tail === undefined) return whole === undefined
  return whole !== undefined && [...head, ...tail].sort().join() === whole.sort().join()
}

interface Locality {
  readonly vocabulary: Vocabulary
  readonly span: Span
  isCached(query: string): boolean
}

/**
 * Every generated expression that is cached is the same in parts, and some of the others are not. The expressions are the
 * same in every run; WINDOWPANE_SEED and WINDOWPANE_COMPARISONS choose others, and more.
 */
export async function assertLocal(
  t: TestContext,
  url: string,
  { vocabulary, span, isCached }: Locality,
): Promise<void> {
  const client = new ApiClient(url)
  t.after(() => client.close())
  const seed = fromEnvironment('WINDOWPANE_SEED') ?? 2
  const count = fromEnvironment('WINDOWPANE_COMPARISONS') ?? 3_000
  let [cached, changed] = [0, 0]
  for (let number = 0; number < count; number++) {
    const random = seededRandom(seed, number)
    const query = someExpression(random, vocabulary, 3)
    const cut = someCut(random, span)
    const same = await isSame(client, query, cut)
    if (isCached(query)) {
      cached++
      assert.ok(same, `${query} ${JSON.stringify(cut)}, number ${number} of seed ${seed}`)
    } else if (!same) changed++
  }
  t.diagnostic(`${cached} of ${count} are cached; of the others ${changed} changed`)
  assert.ok(cached > count / 4 && changed > count / 300)
}
