/** The order of eviction from memory, against plain LRU, over recorded and made-up traffic. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Turnover } from '../../src/stores/memory/turnover.ts'
import { type Asked, crowd, dashboards, type Trace, zipf } from './eviction-traces.ts'

const mb = 1_000_000
/** A query costs the database this much more than the bytes of its answer. */
const costOfAsking = 100_000

interface Cache {
  /** Whether it was there; it is afterwards. */
  ask(asked: Asked): boolean
}

class PlainLru implements Cache {
  readonly #kept = new Map<string, number>()
  readonly #limit: number
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  ask({ key, bytes }: Asked): boolean {
    const isHit = this.#kept.delete(key)
    if (!isHit) this.#bytes += bytes
    for (const [oldest, size] of this.#kept) {
      if (this.#bytes <= this.#limit) break
      this.#kept.delete(oldest)
      this.#bytes -= size
    }
    this.#kept.set(key, bytes)
    return isHit
  }
}

class Own implements Cache {
  readonly #kept = new Turnover<Asked>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  ask(asked: Asked): boolean {
    if (this.#kept.use(asked.key) !== undefined) return true
    Array.from(this.#kept.free(this.#kept.bytes + asked.bytes - this.#limit))
    this.#kept.add(asked.key, asked)
    return false
  }
}

interface Shares {
  /** The share of the requests, and of their cost to the database, that was answered from the cache. */
  readonly hits: number
  readonly saved: number
}

function run(cache: Cache, asked: readonly Asked[]): Shares {
  let [hits, saved, cost] = [0, 0, 0]
  for (const each of asked) {
    cost += costOfAsking + each.bytes
    if (!cache.ask(each)) continue
    hits++
    saved += costOfAsking + each.bytes
  }
  return { hits: hits / asked.length, saved: saved / cost }
}

const team = crowd({ teams: 12, scans: 0 })
const footprint = [...new Map(team.map(({ key, bytes }) => [key, bytes])).values()].reduce((a, b) => a + b, 0)

interface Expected extends Trace {
  /** How much more of the database's cost is saved at least, as a share of it. */
  readonly gain: number
}

const traces: readonly Expected[] = [
  { name: 'popular shapes', asked: zipf({ scans: 0, drift: 0 }), limit: 256 * mb, gain: 0.01 },
  { name: 'popular shapes, little memory', asked: zipf({ scans: 0, drift: 0 }), limit: 64 * mb, gain: 0.03 },
  { name: 'half of them scans', asked: zipf({ scans: 0.5, drift: 0 }), limit: 256 * mb, gain: 0.07 },
  { name: 'popularity that wanders', asked: zipf({ scans: 0, drift: 0.02 }), limit: 256 * mb, gain: -0.02 },
  { name: 'dashboards, a mild flood', asked: dashboards(12, 128 * mb), limit: 256 * mb, gain: 0 },
  { name: 'the demo’s viewers, enough memory', asked: team, limit: footprint, gain: 0 },
  { name: 'the demo’s viewers, half of it', asked: team, limit: footprint / 2, gain: 0 },
  { name: 'the demo’s viewers, a fifth of it', asked: team, limit: footprint / 5, gain: 0 },
  {
    name: 'the demo’s viewers among scans',
    asked: crowd({ teams: 12, scans: 0.5 }),
    limit: footprint / 2,
    gain: 0.1,
  },
]

const shown = (share: number): string => `${(100 * share).toFixed(1)} %`

for (const { name, asked, limit, gain } of traces) {
  test(`eviction: ${name}`, (t) => {
    const lru = run(new PlainLru(limit), asked)
    const own = run(new Own(limit), asked)
    t.diagnostic(
      `hits ${shown(own.hits)}, LRU ${shown(lru.hits)}; cost saved ${shown(own.saved)}, LRU ${shown(lru.saved)}`,
    )
    assert.ok(own.saved >= lru.saved + gain, `${shown(own.saved)} after ${shown(lru.saved)}`)
  })
}

test('eviction: dashboards stay through floods of three times the memory', () => {
  const limit = 256 * mb
  const asked = dashboards(6, 3 * limit)
  const isDashboard = ({ key }: Asked): boolean => key.startsWith('dashboard')
  const hitsOf = (cache: Cache): number => asked.filter((each) => cache.ask(each) && isDashboard(each)).length
  assert.equal(hitsOf(new PlainLru(limit)), 0)
  // The first round is new, and in the second they come back for the first time.
  assert.ok(hitsOf(new Own(limit)) >= 0.9 * 4 * 100)
})
