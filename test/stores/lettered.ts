/**
 * Panes whose rows have the same keys whatever their content: fetched at the same instant, of the same length. For
 * tests only. As a program: `node lettered.ts <directory> <letter>` replaces the content by another letter's pane.
 */
import type { Interval } from '../../src/core/interval.ts'
import type { Entry } from '../../src/stores/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { paneOfFetch } from '../../src/testing/pane-model.ts'
import { scratchStore } from './scratch.ts'
import { keyNumber, shapeNumber } from './truth.ts'

export const fetchedAt = fakeClock().now()
export const twoBlocks: Interval = { from: 0, to: 256 }

export function entryOf(letter: string, interval: Interval, at = fetchedAt): Entry {
  const cells = new Map<number, string>()
  for (let bucket = interval.from; bucket < interval.to; bucket++) cells.set(bucket, `${letter}${bucket},`)
  const columns = [['rank', { head: '{}', lanes: [cells, new Map<number, string>()] }]] as const
  return { pane: paneOfFetch({ interval, fetchedAt: at, notes: [], columns }), shape: shapeNumber(0) }
}

/** The content of the buckets of `entryOf`, one after the other. */
export const expected = (letter: string, { from, to }: Interval): string =>
  Array.from({ length: to - from }, (_, i) => `${letter}${from + i},`).join('')

if (process.argv[1] === import.meta.filename) {
  const [directory = '', letter = ''] = process.argv.slice(2)
  const store = await scratchStore({ clock: fakeClock(), directory })
  await Promise.all([store.remove(keyNumber(0)), store.write(keyNumber(0), entryOf(letter, twoBlocks))])
  await store.close()
}
