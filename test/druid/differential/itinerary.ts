/** One numbered walk of a seeded run, written out: which form, which windows, how each request is written. */
import { seededRandom } from '../../fidelity/random.ts'
import type { Replay } from '../../fidelity/tally.ts'
import type { Span } from '../../fidelity/walks.ts'
import type { Leniency } from './compare.ts'
import type { Ask, Form } from './form.ts'
import { walkSpans } from './spans.ts'

export interface Stop {
  readonly spans: readonly Span[]
  readonly ask: Ask
}

export interface Itinerary {
  readonly number: number
  readonly form: Form
  readonly stops: readonly Stop[]
}

export interface Run extends Replay, Pick<Leniency, 'isSame'> {
  readonly forms: readonly Form[]
}

/** Every form has its turn, in an order of its own in every round, before any comes again. */
export function planWalk(run: Run, number: number): Itinerary {
  const round = Math.floor(number / run.forms.length)
  const form = seededRandom(run.seed, -2 - round).shuffle(run.forms)[number % run.forms.length]!
  const random = seededRandom(run.seed, number)
  const isCacheable = form.eligible && form.empty !== true
  const count = isCacheable ? random.int(8, 13) : random.int(2, 4)
  const cold = walkSpans(form, count, random).map((spans): Stop => ({ spans, ask: form.ask(spans, random) }))
  // Some requests come again to the letter, and some in other letters, when all of their buckets are known.
  const warm = cold.filter(() => random.chance(0.3))
  const rewritten = warm.map((stop) =>
    random.chance(0.4) ? { ...stop, ask: form.ask(stop.spans, random) } : stop,
  )
  return { number, form, stops: [...cold, ...rewritten] }
}
