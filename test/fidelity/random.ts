/**
 * Seeded randomness: the same seed gives the same suite on every machine, so that a failure can be replayed.
 * The generator is mulberry32; its quality is ample for choosing windows and spellings.
 */

export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** An integer in [low, high]. */
  int(low: number, high: number): number
  pick<T>(items: readonly T[]): T
  /** One of the keys, with a probability proportional to its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K
  chance(probability: number): boolean
  shuffle<T>(items: readonly T[]): T[]
}

/** A generator for one numbered part of a seeded run: parts are independent of each other and of their order. */
export function seededRandom(seed: number, part = 0): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(part + 1, 0x85ebca6b)) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    int,
    pick: (items) => items[int(0, items.length - 1)]!,
    weighted: (weights) => drawWeighted(weights, next()),
    chance: (probability) => next() < probability,
    shuffle: (items) => shuffled(items, int),
  }
}

function drawWeighted<K extends string>(weights: Readonly<Record<K, number>>, draw: number): K {
  const keys = Object.keys(weights) as K[]
  const total = keys.reduce((sum, key) => sum + weights[key], 0)
  let left = draw * total
  for (const key of keys) {
    left -= weights[key]
    if (left < 0) return key
  }
  return keys.at(-1)!
}

function shuffled<T>(items: readonly T[], int: Random['int']): T[] {
  const copy = [...items]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = int(0, i)
    const held = copy[i]!
    copy[i] = copy[j]!
    copy[j] = held
  }
  return copy
}
