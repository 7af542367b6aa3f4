/** The results of a soak, as text, and the missed marks. */
import type { SoakOptions, SoakReport } from './soak.ts'
import { storeMiB } from './soak.ts'

const mib = 2 ** 20
const mb = 1e6

/** The memory of one thread, and of each worker as measured before workers shared a compressing thread: docs/guide/security.md. */
const boundOf = ({ memoryMiB, workers }: SoakOptions): number =>
  1.3 * memoryMiB * mib + 80 * mb + (workers > 1 ? workers * (60 * mb + Math.max(8, memoryMiB / 8) * mib) : 0)

const shareOf = (count: number, { requests }: SoakOptions): number => count / requests

/** Misses of the first requests count less in a long run. */
const leastHits = ({ requests }: SoakOptions): number => (requests < 100_000 ? 0.4 : 0.6)
const mostFailures = 0.05

/** Sentences; the memory of the process is a mark only where it was measured on the built package. */
export function missedMarks(options: SoakOptions, report: SoakReport): string[] {
  const { tally, afterwards, peak, usedBytes, storeBytes, exit } = report
  const { counts } = tally
  const after = afterwards.counts
  const marks: [boolean, string][] = [
    [counts.wrong === 0, `${counts.wrong} wrong responses: ${tally.wrongs.join('; ')}`],
    [shareOf(counts.hit, options) >= leastHits(options), `${counts.hit} hits are too few`],
    [shareOf(counts.failed + counts.cut, options) <= mostFailures, `${counts.failed + counts.cut} failed`],
    [
      after.wrong + after.failed + after.cut === 0,
      `after the faults: ${JSON.stringify(after)} ${afterwards.wrongs.join('; ')}`,
    ],
    [usedBytes <= options.memoryMiB * mib, `${shown(usedBytes)} counted against limits.memory`],
    [storeBytes <= storeMiB * mib, `the store takes ${shown(storeBytes)}`],
    [exit === 0, `the process ended with ${exit}`],
    [
      options.main === undefined || peak.anonymous <= boundOf(options),
      `the process took ${shown(peak.anonymous)}, at most ${shown(boundOf(options))}`,
    ],
  ]
  return marks.filter(([isMet]) => !isMet).map(([, sentence]) => sentence)
}

const shown = (bytes: number): string => `${(bytes / mb).toFixed(0)} MB`

export function reportText(options: SoakOptions, report: SoakReport): string {
  const { tally, seconds, queries, faults, peak, usedBytes, storeBytes } = report
  const { counts } = tally
  const percent = (count: number): string => `${(100 * shareOf(count, options)).toFixed(1)} %`
  return [
    `${options.requests} requests in ${seconds.toFixed(0)} s (${(options.requests / seconds).toFixed(0)}/s), ${options.memoryMiB} MiB, LMDB, ${options.workers} workers, seed ${options.seed}`,
    `  ${counts.wrong} wrong; hits ${counts.hit} (${percent(counts.hit)}), other ${counts.other}, stale ${counts.stale}, 502/504 ${counts.failed}, cut off ${counts.cut}, clients left ${counts.left}`,
    `  database: ${queries} queries; faults: ${JSON.stringify(faults)}`,
    `  memory: anonymous ${shown(peak.anonymous)} (at most ${shown(boundOf(options))}; for one process ${shown(1.3 * options.memoryMiB * mib + 80 * mb)}), mapped ${shown(peak.file)}, all ${shown(peak.rss)}, counted ${shown(usedBytes)}; store ${shown(storeBytes)}`,
  ].join('\n')
}
