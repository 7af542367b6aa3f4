/** One numbered walk of a seeded run, written out: which form, which windows, how each request is spelled. */
import type { Form, Param } from './form.ts'
import type { Random } from './random.ts'
import { seededRandom } from './random.ts'
import { type Ask, sameAnswerKey, spellAsk, spellStep, spellWindow } from './spelling.ts'
import { fixedWindow, type Span, type Window, walkLength, walkRandom, walkWindows } from './walks.ts'

export interface Stop {
  readonly window: Window
  readonly ask: Ask
  /** Equal for requests with the same direct answer. */
  readonly key: string
}

export interface Itinerary {
  readonly number: number
  readonly form: Form
  /** The request apart from the range: equal ones on equal grids share buckets. */
  readonly question: string
  readonly stops: readonly Stop[]
}

export interface Run {
  readonly seed: number
  readonly span: Span
  readonly forms: readonly Form[]
  /** The command that repeats a walk of it. */
  readonly replay: string
}

/** Every form has its turn, in an order of its own in every round, before any comes again. */
export function planWalk(run: Run, number: number): Itinerary {
  const round = Math.floor(number / run.forms.length)
  const order = seededRandom(run.seed, -2 - round).shuffle(run.forms)
  const form = order[number % order.length]!
  const random = walkRandom(run.seed, number)
  const lookback = random.chance(0.08) ? random.pick(['30s', '1m', '300']) : ''
  const fixed: readonly Param[] = [
    ...(form.extra ?? []),
    ...(lookback === '' ? [] : [['lookback_delta', lookback] as const]),
  ]
  const cold = windowsOf(form, run.span, random).map(stopWriter(form, fixed, random))
  return {
    number,
    form,
    question: `${form.query}\n${lookback}`,
    stops: [...cold, ...warmStops(cold, random)],
  }
}

function windowsOf(form: Form, span: Span, random: Random): Window[] {
  const { range } = form
  if (range !== undefined) return [fixedWindow(span, range.stepMs, range.points)]
  const cacheable = form.eligible && form.empty !== true
  return walkWindows(span, walkLength(cacheable, random), random)
}

function stopWriter(form: Form, fixed: readonly Param[], random: Random): (window: Window) => Stop {
  let stepText: string | undefined
  return (window) => {
    const respell = stepText === undefined || random.chance(0.2)
    if (respell) stepText = spellStep(window.step, random)
    const spelled = spellWindow(form.query, window, random).map(
      (param): Param => (param[0] === 'step' ? ['step', stepText!] : param),
    )
    const timeout: Param[] = random.chance(0.05) ? [['timeout', random.pick(['30s', '1m', '45.5'])]] : []
    const params = [...spelled, ...fixed, ...timeout]
    const ask = spellAsk(form.edit?.(params) ?? params, random)
    return { window, ask, key: sameAnswerKey(ask) }
  }
}

/** Some requests come again to the letter after everything else, when all of their buckets are known. */
const warmStops = (cold: readonly Stop[], random: Random) => cold.filter(() => random.chance(0.15))
