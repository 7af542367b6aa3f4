/** How values of floats go over time. */
import { HOUR, type Random, type Sampler, START } from './series.ts'

/** Counts whole events; falls back to zero about every `resetEveryMs`, as when a process restarts. */
export function counter(perScrape: number, resetEveryMs = Number.POSITIVE_INFINITY): Sampler {
  return (random) => {
    let total = Math.floor(random() * perScrape * 1000)
    let last = START
    return (t) => {
      if (t - last > resetEveryMs * (0.5 + random())) {
        total = 0
        last = t
      }
      total += Math.floor(random() * 2 * perScrape)
      return total
    }
  }
}

/** Adds fractions, so that sums depend on the order of addition. */
export function fractionalCounter(perScrape: number, resetEveryMs = Number.POSITIVE_INFINITY): Sampler {
  return (random) => {
    const whole = counter(1000, resetEveryMs)(random)
    return (t, index) => (Number(whole(t, index)) * perScrape) / 1013
  }
}

/** A day's wave with noise. */
export function wave(middle: number, height: number, digits = 12): Sampler {
  return (random) => {
    const phase = random() * 24 * HOUR
    return (t) => {
      const angle = (2 * Math.PI * (t - START + phase)) / (24 * HOUR)
      return Number((middle + height * (Math.sin(angle) + 0.2 * (random() - 0.5))).toFixed(digits))
    }
  }
}

/** Whole numbers in [0, most], moving by small steps. */
export function walk(most: number): Sampler {
  return (random) => {
    let value = Math.floor(random() * most)
    return () => {
      value = Math.min(most, Math.max(0, value + Math.floor(random() * 7) - 3))
      return value
    }
  }
}

export function constant(value: number): Sampler {
  return () => () => value
}

/** Goes round the given values, each for `scrapes` scrapes. */
export function cycle(values: readonly number[], scrapes = 1): Sampler {
  return () => (_t, index) => values[Math.floor(index / scrapes) % values.length]!
}

/** Mostly 1, sometimes 0 for a while. */
export const upOrDown: Sampler = (random) => {
  let down = 0
  return () => {
    if (down === 0 && random() < 0.002) down = 1 + Math.floor(random() * 40)
    if (down === 0) return 1
    down--
    return 0
  }
}

/** Seconds since the start of the data: a value that can be computed without a query. */
export const secondsSinceStart: Sampler = () => (t) => (t - START) / 1000

/** Returns a duration in seconds, mostly small with a long tail. */
export function duration(random: Random): number {
  return Math.round(1e6 * 0.02 * -Math.log(1 - random()) * (random() < 0.1 ? 20 : 1)) / 1e6
}
