/** People in front of dashboards: windows that roll with the time, refreshes, a zoom, a look back, a question of one's own. */
import { Pool } from 'undici'
import type { Clock, EpochMs, Timer } from '../core/clock.ts'
import { mixSeeds, pick, type Random, seededRandom, wholeNumber } from '../testing/random.ts'
import { dashboards, type Panel, questionOf, type Window } from './dashboards.ts'
import { type DemoQuery, requestIdHeader } from './database.ts'
import { printInstant } from './print.ts'

/** One question and its answer, as a viewer saw it. */
export interface Visit {
  readonly id: string
  readonly question: DemoQuery
  /** 0 where no answer came. */
  readonly status: number
  readonly cacheStatus: string
  readonly body: string
  readonly sentAt: EpochMs
  readonly receivedAt: EpochMs
  /** Until the response began. */
  readonly tookMs: number
}

export interface CrowdOptions {
  readonly clock: Clock
  /** Where the proxy is. */
  readonly url: string
  readonly seed: number
  visited(visit: Visit): void
}

const minute = 60_000
const hour = 60 * minute

interface Habit {
  readonly dashboard: number
  /** The length of the window. */
  readonly hours: number
  readonly refreshSeconds: number
  /** Hours ahead of UTC. */
  readonly zone?: number
}

/** Teams look at the same boards; not all over the same range, nor in the same zone. */
const habits: readonly Habit[] = [
  { dashboard: 0, hours: 1, refreshSeconds: 5 },
  { dashboard: 1, hours: 1, refreshSeconds: 5 },
  { dashboard: 2, hours: 3, refreshSeconds: 5 },
  { dashboard: 3, hours: 24, refreshSeconds: 5 },
  { dashboard: 0, hours: 1, refreshSeconds: 5, zone: 1 },
  { dashboard: 0, hours: 6, refreshSeconds: 5 },
  { dashboard: 1, hours: 1, refreshSeconds: 10, zone: -5 },
  { dashboard: 2, hours: 1, refreshSeconds: 15 },
  { dashboard: 3, hours: 24, refreshSeconds: 5, zone: 5.5 },
  { dashboard: 0, hours: 12, refreshSeconds: 5 },
  { dashboard: 3, hours: 6, refreshSeconds: 5 },
  { dashboard: 1, hours: 3, refreshSeconds: 30 },
]

/** So that the first picture is not one of a stampede only. */
const arriveWithinMs = 2_500

export const usualViewers = habits.length

export class Crowd {
  readonly #options: CrowdOptions
  readonly #pool: Pool
  readonly #timers = new Map<number, Timer>()
  readonly #prefix: string
  #asked = 0
  #isStopped = false

  constructor(options: CrowdOptions) {
    this.#options = options
    this.#prefix = Math.floor(options.clock.random() * 2 ** 32).toString(36)
    this.#pool = new Pool(options.url, { connections: 64, pipelining: 1 })
    for (const [i, viewer] of viewersOf(options.seed).entries())
      this.#after(i, (i * arriveWithinMs) / habits.length, viewer)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers.values()) timer.cancel()
    await this.#pool.destroy()
  }

  #after(place: number, delayMs: number, viewer: Viewer): void {
    const timer = this.#options.clock.after(delayMs, () => void this.#refresh(place, viewer))
    this.#timers.set(place, timer)
  }

  /** The next refresh is due whether or not this one is answered: browsers do not wait for each other. */
  async #refresh(place: number, viewer: Viewer): Promise<void> {
    const questions = viewer.look(this.#options.clock.now())
    this.#after(place, viewer.pauseMs, viewer)
    await Promise.all(questions.map((question) => this.#ask(question, viewer.usesPost)))
  }

  async #ask(question: DemoQuery, isPost: boolean): Promise<void> {
    const { clock, visited } = this.#options
    const id = `${this.#prefix}-${this.#asked++}`
    const [sentAt, started] = [clock.now(), clock.elapsed()]
    const { servedMs, ...answer } = await this.#send(question, isPost, id)
    if (this.#isStopped) return
    const tookMs = servedMs ?? clock.elapsed() - started
    visited({ id, question, ...answer, sentAt, receivedAt: clock.now(), tookMs })
  }

  async #send(
    question: DemoQuery,
    isPost: boolean,
    id: string,
  ): Promise<Pick<Visit, 'status' | 'cacheStatus' | 'body'> & { readonly servedMs?: number | undefined }> {
    const form = formOf(question)
    const path = '/api/v1/query_range'
    try {
      const { statusCode, headers, body } = await this.#pool.request({
        method: isPost ? 'POST' : 'GET',
        path: isPost ? path : `${path}?${form}`,
        headers: {
          [requestIdHeader]: id,
          ...(isPost && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        body: isPost ? form : null,
      })
      const text = await body.text()
      const cacheStatus = String(headers['cache-status'] ?? '')
      return { status: statusCode, cacheStatus, body: text, servedMs: totalMsIn(headers['server-timing']) }
    } catch {
      return { status: 0, cacheStatus: '', body: '' }
    }
  }
}

/**
 * The time that the proxy took until its response began. The viewers' own clock would count their work too: they read and
 * check every response in one thread.
 */
function totalMsIn(serverTiming: string | string[] | undefined): number | undefined {
  const found = /total;dur=([\d.]+)/.exec(String(serverTiming ?? ''))
  return found === null ? undefined : Number(found[1])
}

export const formOf = ({ query, start, end, stepMs }: DemoQuery): string =>
  new URLSearchParams({
    query,
    start: printInstant(start),
    end: printInstant(end),
    step: String(stepMs / 1000),
  }).toString()

/** The people of a crowd, each with dice of their own. */
export const viewersOf = (seed: number): Viewer[] =>
  habits.map((habit, i) => new Viewer(habit, seededRandom(mixSeeds(seed, i))))

/** One person with one dashboard open. */
class Viewer {
  readonly usesPost: boolean
  readonly #random: Random
  readonly #habit: Habit
  /** A window that stands still, and for how many refreshes more. */
  #detour: { readonly window: Window; left: number } | undefined

  constructor(habit: Habit, random: Random) {
    this.#habit = habit
    this.#random = random
    this.usesPost = random() < 0.5
  }

  /** A little off the beat, as browsers are. */
  get pauseMs(): number {
    return 1000 * this.#habit.refreshSeconds + wholeNumber(this.#random, -150, 150)
  }

  look(now: EpochMs): DemoQuery[] {
    const window = this.#nextWindow(now)
    const { dashboard, zone = 0 } = this.#habit
    const questions = dashboards[dashboard]!.map((panel) => questionOf(panel, window, zone * hour))
    if (this.#random() < 0.15) questions.push(this.#ownQuestion(now))
    return questions
  }

  #nextWindow(now: EpochMs): Window {
    if (this.#detour !== undefined && this.#detour.left-- > 0) return this.#detour.window
    this.#detour = undefined
    const lengthMs = this.#habit.hours * hour
    const rolling = { from: now - lengthMs, to: now }
    const dice = this.#random()
    if (dice < 0.05) this.#detour = { window: this.#zoomed(rolling), left: 2 }
    else if (dice < 0.09) this.#detour = { window: shifted(rolling, -lengthMs / 2), left: 1 }
    return this.#detour?.window ?? rolling
  }

  #zoomed({ from, to }: Window): Window {
    const length = (to - from) / 4
    const start = from + this.#random() * 3 * length
    return { from: start, to: start + length }
  }

  /** A query that is on no dashboard. */
  #ownQuestion(now: EpochMs): DemoQuery {
    const code = pick(this.#random, ['200', '404', '500'])
    const window = wholeNumber(this.#random, 10, 90) * minute
    const panel: Panel = {
      query: pick(this.#random, [
        `sum by (job) (rate(http_requests_total{code="${code}"}[${wholeNumber(this.#random, 1, 9)}m]))`,
        `max by (instance) (process_resident_memory_bytes{job="${pick(this.#random, ['catalog', 'search'])}"})`,
        `avg(room_temperature_celsius{floor="${wholeNumber(this.#random, 0, 2)}"})`,
      ]),
      maxDataPoints: wholeNumber(this.#random, 300, 1200),
    }
    return questionOf(panel, { from: now - window, to: now })
  }
}

const shifted = ({ from, to }: Window, by: number): Window => ({ from: from + by, to: to + by })
