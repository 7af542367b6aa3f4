/** Seeded randomness for generators: the same seed gives the same test again. */

/** A number in [0, 1). */
export type Random = () => number

/** Mulberry32: 32 bits of state, good enough for test data. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One number for a list of them: the dice of one place, whatever else was rolled before. */
export function mixSeeds(...seeds: readonly number[]): number {
  let hash = 0x811c9dc5
  for (const seed of seeds) {
    for (const half of [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0]) {
      hash = Math.imul(hash ^ half, 0x01000193)
      hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
    }
  }
  return (hash ^ (hash >>> 13)) >>> 0
}

/** A whole number in [from, to]. */
export const wholeNumber = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1))

export const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)]!
