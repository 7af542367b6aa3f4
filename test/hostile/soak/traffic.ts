/** The requests of the soak, by number: the same questions in every run; only windows that end now differ. */
import type { Clock } from '../../../src/core/clock.ts'
import { pick, type Random, seededRandom } from '../../../src/testing/random.ts'
import { metadataFor, type Response, responseTo } from './truth.ts'

export interface SoakRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The client disconnects before it has the response. */
  readonly leaves: boolean
  /** The database's answer. */
  truth(): Response
  /** The database's answer if the window ended earlier, for stale answers. */
  truthUntil(end: number): Response
}

interface Form {
  /** Of a hundred requests. */
  readonly share: number
  readonly series: number
  readonly points: number
  /** How many queries of this form there are. None repeats where it is infinite. */
  readonly questions: number
  /** Ends now instead of two days ago. */
  readonly isLive?: boolean
}

const once = Number.POSITIVE_INFINITY

const forms: readonly Form[] = [
  { share: 56, series: 1, points: 60, questions: 200 },
  { share: 12, series: 10, points: 60, questions: 60 },
  { share: 1, series: 40, points: 120, questions: 6 },
  { share: 8, series: 2, points: 40, questions: 20, isLive: true },
  { share: 13, series: 1, points: 60, questions: once },
  { share: 4, series: 10, points: 60, questions: once },
  { share: 0.2, series: 50, points: 400, questions: once },
]
/** The rest of a hundred: questions that the database refuses, and requests that are no queries. */
const refusedShare = 2

const stepSeconds = { settled: 60, live: 15 }
/** A window moves on by a step whenever so many requests have passed. */
const slideEvery = 5000
const encodings = ['', '', '', 'gzip', 'gzip, deflate, br', 'zstd, gzip']
const shareOfPosts = 0.1
const shareOfLeavers = 0.002

export class Traffic {
  readonly #random: Random
  readonly #clock: Clock
  /** Two days ago, in seconds: settled. */
  readonly #begin: number
  #number = 0

  constructor(seed: number, clock: Clock) {
    this.#random = seededRandom(seed)
    this.#clock = clock
    this.#begin = Math.floor(clock.now() / 3_600_000) * 3600 - 2 * 86_400
  }

  next(): SoakRequest {
    const number = this.#number++
    let share = 100 * this.#random()
    for (const form of forms) {
      if (share < form.share) return this.#query(form, number)
      share -= form.share
    }
    return share < refusedShare ? this.#refused(number) : this.#metadata(number)
  }

  #query({ series, points, questions, isLive = false }: Form, number: number): SoakRequest {
    const isOnce = questions === once
    const question = isOnce ? `once${number}` : `q${Math.floor(questions * this.#random())}`
    const step = isLive ? stepSeconds.live : stepSeconds.settled
    const slid = isOnce ? 0 : Math.floor(number / slideEvery)
    const end = isLive
      ? Math.floor(this.#clock.now() / 1000 / step) * step
      : this.#begin + step * (points + slid)
    return this.#range(`soak_${series}_${question}`, { start: end - step * (points - 1), end, step })
  }

  #refused(number: number): SoakRequest {
    const window = { start: this.#begin, end: this.#begin + 600, step: 60 }
    return this.#range(`refused_${number % 50}`, window)
  }

  #range(query: string, window: { start: number; end: number; step: number }): SoakRequest {
    const { start, end, step } = window
    const search = `query=${query}&start=${start}&end=${end}&step=${step}`
    const isPost = this.#random() < shareOfPosts
    const path = '/api/v1/query_range'
    return {
      ...(isPost
        ? { method: 'POST', path, body: search, headers: this.#headers(formHeaders) }
        : { method: 'GET', path: `${path}?${search}`, body: null, headers: this.#headers({}) }),
      leaves: this.#random() < shareOfLeavers,
      truth: () => responseTo(query, window),
      truthUntil: (earlier) => responseTo(query, { ...window, end: earlier }),
    }
  }

  #metadata(number: number): SoakRequest {
    const search = `match[]=soak_${number % 100}`
    const truth = () => metadataFor(search)
    return {
      ...{ method: 'GET', path: `/api/v1/series?${search}`, body: null, headers: this.#headers({}) },
      ...{ leaves: false, truth, truthUntil: truth },
    }
  }

  #headers(more: Record<string, string>): Record<string, string> {
    const encoding = pick(this.#random, encodings)
    return encoding === '' ? more : { ...more, 'accept-encoding': encoding }
  }
}

const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' }
