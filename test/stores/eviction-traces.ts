/** Traces of requests with their order and the size of their answers: recorded from the demo's viewers, or made up. */
import { viewersOf } from '../../src/demo/crowd.ts'
import { type Random, seededRandom, wholeNumber } from '../../src/testing/random.ts'

export interface Asked {
  readonly key: string
  readonly bytes: number
}

export interface Trace {
  readonly name: string
  readonly asked: readonly Asked[]
  readonly limit: number
}

const small = 2_000
const medium = 140_000
const large = 2_100_000

const someSize = (random: Random): number => {
  const dice = random()
  return dice < 0.6 ? small : dice < 0.9 ? medium : large
}

/** Popularity falls with the rank, as that of dashboards does. */
function popular(random: Random, count: number): () => number {
  const sums: number[] = []
  let total = 0
  for (let rank = 1; rank <= count; rank++) {
    total += rank ** -0.9
    sums.push(total)
  }
  return () => {
    const dice = random() * total
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! < dice) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** `scans`: the share of one-off queries; `drift`: how fast other queries become the popular ones. */
export function zipf({ scans, drift }: { scans: number; drift: number }): Asked[] {
  const random = seededRandom(7)
  const next = popular(random, 2_000)
  const sizes = Array.from({ length: 20_000 }, () => someSize(random))
  return Array.from({ length: 60_000 }, (_, i) => {
    if (random() < scans) return { key: `once ${i}`, bytes: someSize(random) }
    const shape = (next() + Math.floor(i * drift)) % sizes.length
    return { key: `shape ${shape}`, bytes: sizes[shape]! }
  })
}

/** A hundred dashboards in rotation; between two rounds `flood` bytes of one-off queries. */
export function dashboards(rounds: number, flood: number): Asked[] {
  const random = seededRandom(5)
  const asked: Asked[] = []
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 100; i++) asked.push({ key: `dashboard ${i}`, bytes: medium })
    for (let poured = 0; poured < flood; poured += asked.at(-1)!.bytes)
      asked.push({ key: `once ${asked.length}`, bytes: someSize(random) })
  }
  return asked
}

/** An hour of the demo's viewers, many times over: teams that look at boards of their own. */
export function crowd({ teams, scans }: { teams: number; scans: number }): Asked[] {
  const asked: (Asked & { readonly at: number })[] = []
  const began = Date.UTC(2026, 0, 1)
  const random = seededRandom(3)
  for (let team = 0; team < teams; team++) {
    for (const viewer of viewersOf(team)) {
      for (let at = began + wholeNumber(random, 0, 30_000); at < began + 600_000; at += viewer.pauseMs) {
        for (const { query, start, end, stepMs } of viewer.look(at)) {
          const bytes = 2_000 + 25 * seriesOf(query) * ((end - start) / stepMs + 1)
          asked.push({ key: `${team} ${query} ${stepMs} ${start % stepMs}`, bytes, at })
          if (random() < scans) asked.push({ key: `once ${asked.length}`, bytes: someSize(random), at })
        }
      }
    }
  }
  return asked.sort((a, b) => a.at - b.at)
}

/** About as many as the demo's database has. */
const seriesOf = (query: string): number => (/by \((?:job|code|floor)\)|^max\(|^avg\(/.test(query) ? 5 : 20)
