/** When the demo's samples are taken, and when the database hears of them: a pure function of the source and its dice. */
import type { EpochMs } from '../core/clock.ts'

/** Whatever is scraped: a pod, a room. It lives in [from, to) and ends with a staleness marker, as a target does. */
export interface Source {
  readonly seed: number
  readonly from: EpochMs
  readonly to: EpochMs
  /** Where between two scrapes its own falls. */
  readonly offsetMs: number
}

export const scrapeMs = 15_000

/** Scrapes that share the fate of a lost connection. */
const blockLength = 8
const lostShare = 0.2
const longestReconnectMs = 120_000
const promptMs = 200
const usuallyWithinMs = 8_000

/** No sample comes later than this after its time. */
export const longestLatenessMs = blockLength * scrapeMs + longestReconnectMs + usuallyWithinMs

export const timeOf = (source: Source, scrape: number): EpochMs => scrape * scrapeMs + source.offsetMs

/** The last scrape at or before `at`. */
export const scrapeBefore = (source: Source, at: EpochMs): number =>
  Math.floor((at - source.offsetMs) / scrapeMs)

/** The first scrape of a source's life. */
export const firstScrape = (source: Source): number => Math.ceil((source.from - source.offsetMs) / scrapeMs)

/** The scrape that finds it gone and becomes the marker. */
export const endScrape = (source: Source): number => Math.ceil((source.to - source.offsetMs) / scrapeMs)

/**
 * Most samples arrive within seconds. Now and then an agent loses its connection for a block of scrapes and sends them
 * when it is back, minutes later.
 */
export function arrivalOf(source: Source, scrape: number): EpochMs {
  const prompt =
    timeOf(source, scrape) + promptMs + Math.floor(roll(source.seed, scrape, 2) ** 2 * usuallyWithinMs)
  const block = Math.floor(scrape / blockLength)
  if (roll(source.seed, block, 1) >= lostShare) return prompt
  const reconnect = timeOf(source, (block + 1) * blockLength)
  return reconnect + Math.floor(roll(source.seed, block, 3) * longestReconnectMs)
}

export const isVisible = (source: Source, scrape: number, knownAt: EpochMs): boolean =>
  timeOf(source, scrape) + longestLatenessMs <= knownAt || arrivalOf(source, scrape) <= knownAt

/** A number in [0, 1) that follows from whole numbers: the same place, the same dice. */
export function roll(seed: number, place: number, purpose: number): number {
  let mixed = Math.imul(seed ^ Math.imul(place, 0x9e3779b1) ^ Math.imul(purpose, 0x85ebca6b), 0xcc9e2d51)
  mixed ^= mixed >>> 15
  mixed = Math.imul(mixed, 0x2c1b3c6d)
  mixed ^= mixed >>> 12
  mixed = Math.imul(mixed, 0x297a2d39)
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
}
