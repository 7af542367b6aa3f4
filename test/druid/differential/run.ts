/** Runs a seeded suite: several walks at a time, each of them in order, every answer compared. */
import { type Answer, ApiClient, outcomeOf } from '../../fidelity/client.ts'
import { type Servers, type Size, walkNumbers } from '../../fidelity/run.ts'
import { Tally } from '../../fidelity/tally.ts'
import { compareAnswers, type Leniency } from './compare.ts'
import type { Ask } from './form.ts'
import { type Itinerary, planWalk, type Run, type Stop } from './itinerary.ts'
import { KnownBuckets } from './model.ts'
import { bucketGrid } from './spans.ts'

/** The results of a run, and the checks that only this one has. */
export class DruidTally extends Tally {
  /** Answers whose digits differ from those of the direct answer where Druid itself varies them. */
  otherDigits = 0
  /** Answers with the same meaning in other bytes, in runs that allow it. */
  otherSpellings = 0
  /** Fetched buckets, and how many there would have been without a cache. */
  asked = 0
  touched = 0

  override table(): string {
    const lines = [
      `other digits, where Druid's own differ ${this.otherDigits}`,
      `other spellings, where Druid has several ${this.otherSpellings}`,
      `buckets asked of Druid ${this.asked} of ${this.touched}`,
    ]
    return [super.table(), ...lines].join('\n')
  }
}

export async function runSuite(run: Run, servers: Servers, size: Size): Promise<DruidTally> {
  const tally = new DruidTally(run)
  const direct = new ApiClient(servers.direct, size.walkers)
  const proxied = new ApiClient(servers.proxied, size.walkers)
  const desk = { direct, proxied, tally, model: new KnownBuckets(), isSame: run.isSame }
  const numbers =
    size.only === undefined ? walkNumbers(() => tally.comparisons < size.comparisons) : [size.only].values()
  const walker = async () => {
    for (const number of numbers) await takeWalk(planWalk(run, number), desk)
  }
  try {
    await Promise.all(Array.from({ length: size.walkers }, walker))
  } finally {
    await Promise.all([direct.close(), proxied.close()])
  }
  return tally
}

interface Desk extends Pick<Leniency, 'isSame'> {
  readonly direct: ApiClient
  readonly proxied: ApiClient
  readonly tally: DruidTally
  readonly model: KnownBuckets
}

async function takeWalk(walk: Itinerary, desk: Desk): Promise<void> {
  // The data is static: a request repeated to the letter has one direct answer. The proxied one is always sent.
  const known = new Map<string, Promise<Answer>>()
  for (const stop of walk.stops) {
    const expected = known.get(stop.ask.body) ?? send(desk.direct, stop.ask)
    known.set(stop.ask.body, expected)
    await compareAt(walk, stop, { ...desk, expected })
  }
}

const send = (client: ApiClient, { path, body }: Ask): Promise<Answer> =>
  client.post(path, body, { 'content-type': 'application/json' })

async function compareAt(
  walk: Itinerary,
  stop: Stop,
  desk: Desk & { readonly expected: Promise<Answer> },
): Promise<void> {
  const { form, stops, number } = walk
  const { tally } = desk
  const [direct, proxied] = await Promise.all([desk.expected, send(desk.proxied, stop.ask)])
  const verdict = compareAnswers(direct, proxied, { inexact: form.inexact, isSame: desk.isSame })
  if (verdict === 'other digits') tally.otherDigits++
  if (verdict === 'other spelling') tally.otherSpellings++
  const seen = outcomeOf(proxied)
  tally.add({
    expected: form,
    question: form.name,
    walk: number,
    place: `${stops.indexOf(stop) + 1} of ${stops.length}`,
    request: `POST ${stop.ask.path} ${stop.ask.body}`,
    isEmpty: isEmptyAnswer(direct),
    cacheStatus: proxied.headers['cache-status'],
    seen,
    needless: form.eligible ? needless(walk, stop, { ...desk, asked: seen.asked }) : undefined,
    difference: typeof verdict === 'string' ? undefined : verdict,
  })
}

/** No known bucket is fetched again. */
function needless(
  { form }: Itinerary,
  { spans }: Stop,
  { model, tally, asked }: Desk & { readonly asked: number },
): string | undefined {
  const { missing, edges, known } = model.ask(form.name, bucketGrid(form), spans)
  tally.asked += asked
  tally.touched += missing + edges + known
  if (asked <= missing + edges) return undefined
  return `asked for ${asked} buckets; ${missing} were not known, and of ${edges} only a part was wanted`
}

/** No rows, in any format. */
export const isEmptyAnswer = ({ status, body }: Answer): boolean =>
  status !== 200 || (body.length < 4 && /^(?:\[\])?\n*$/.test(body.toString()))
