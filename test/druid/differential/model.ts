/**
 * A plain model of an interval cache over settled, static data: the beginnings of known buckets for each question. It
 * is deliberately naive, so that it can judge the real one.
 */
import { bucketAt, type Grid, startOf } from '../../../src/core/grid.ts'
import type { Span } from '../../fidelity/walks.ts'

export interface Needed {
  /** Whole buckets that were not known yet, and partially requested buckets. */
  readonly missing: number
  readonly edges: number
  readonly known: number
}

export class KnownBuckets {
  readonly #known = new Map<string, Set<number>>()

  /** How many buckets have to be fetched; the whole ones are known from then on. */
  ask(question: string, grid: Grid, spans: readonly Span[]): Needed {
    const known = this.#of(question)
    const needed = { missing: 0, edges: 0, known: 0 }
    for (const [start, { covered, length }] of touchedBy(grid, spans)) {
      if (covered < length) needed.edges++
      else if (known.has(start)) needed.known++
      else needed.missing++
      if (covered === length) known.add(start)
    }
    return needed
  }

  #of(question: string): Set<number> {
    const found = this.#known.get(question) ?? new Set<number>()
    this.#known.set(question, found)
    return found
  }
}

/** How many milliseconds of each bucket the spans cover, by the bucket's beginning. */
function touchedBy(grid: Grid, spans: readonly Span[]) {
  const touched = new Map<number, { readonly covered: number; readonly length: number }>()
  for (const { from, to } of merged(spans)) {
    for (let bucket = bucketAt(grid, from); startOf(grid, bucket) < to; bucket++) {
      const [start, end] = [startOf(grid, bucket), startOf(grid, bucket + 1)]
      const before = touched.get(start)?.covered ?? 0
      touched.set(start, { covered: before + Math.min(end, to) - Math.max(start, from), length: end - start })
    }
  }
  return touched
}

function merged(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last === undefined || last.to < span.from) result.push(span)
    else result[result.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
  }
  return result
}
