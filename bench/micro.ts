/**
 * Splice, ingest and lookup against their bounds: `npm run bench:micro`. Ratios and differences are of one run.
 * Exits with 1 where a mark is missed.
 */
import type { Decomposed } from '../src/backends/backend.ts'
import { MatrixSink } from '../src/backends/matrix/decompose.ts'
import { recompose } from '../src/backends/matrix/recompose.ts'
import { cover } from '../src/core/coverage.ts'
import { gapOf } from '../src/core/coverage-runs.ts'
import { type Pane, slice } from '../src/core/pane.ts'
import { PaneBuilder } from '../src/core/pane-builder.ts'
import { join } from '../src/core/pane-join.ts'
import { ladder } from '../src/ttl/ladder.ts'
import type { TtlPolicy } from '../src/ttl/policy.ts'
import { type Form, firstBucket, forms, grid } from './forms.ts'
import { inTurn, microseconds, shown } from './measure.ts'
import { plateaus } from './plateaus.ts'

const chunkBytes = 64 * 1024
const marks: { name: string; isMet: boolean }[] = []

function ingest(form: Form): Pane {
  const sink = new MatrixSink(grid, form.interval)
  for (let at = 0; at < form.body.length; at += chunkBytes)
    sink.write(form.body.subarray(at, at + chunkBytes))
  return (sink.end(1) as Decomposed).panes[0]!
}

/** The pane as it was fetched, or in `count` pieces of their own, as a store holds them after some write-backs. */
function pieces(pane: Pane, count: number): Pane[] {
  if (count === 1) return [pane]
  const width = Math.ceil((pane.to - pane.from) / count)
  return Array.from({ length: count }, (_, i) =>
    join([slice(pane, { from: pane.from + i * width, to: pane.from + (i + 1) * width })]),
  )
}

function benchIngest(form: Form): void {
  const own = microseconds(() => ingest(form))
  const json = microseconds(() => JSON.parse(form.body.toString()))
  // Where heads outweigh points, labels must be read and ranked, which JSON.parse does not do: no mark there.
  const isMarked = form.columns < 10_000
  if (isMarked) marks.push({ name: `ingest of ${form.name} ≥ 3 × JSON.parse`, isMet: json / own >= 3 })
  console.log(
    `ingest  ${form.name.padEnd(28)} ${shown(own)} µs  JSON.parse ${shown(json)} µs  ${(json / own).toFixed(1)} ×`,
  )
}

function benchSplice(form: Form, count: number): void {
  const panes = pieces(ingest(form), count)
  const target = Buffer.allocUnsafeSlow(form.body.length)
  const splice = () => recompose(panes).write(target)
  splice()
  if (!target.equals(form.body)) throw new Error(`${form.name}: the splice is wrong`)
  // From where the bytes lie to where they go: neither begins at a cache line.
  const { bytes, slabAt } = ingest(form).body
  const plain = () => bytes.copy(target, 1, slabAt, slabAt + form.body.length - 1)
  const [own, copy] = inTurn(splice, plain)
  const columns = panes.reduce((sum, pane) => sum + pane.body.columns, 0)
  const each = (1000 * (own - copy)) / columns
  marks.push({ name: `splice of ${form.name} from ${count} panes ≤ memcpy + 250 ns`, isMet: each <= 250 })
  console.log(
    `splice  ${form.name.padEnd(28)} ${shown(own)} µs  memcpy ${shown(copy)} µs  ${count} panes, ${each.toFixed(0)} ns per column and pane`,
  )
}

function benchLookup(form: Form): void {
  const panes = pieces(ingest(form), 4)
  const window = { from: form.interval.from, to: form.interval.to }
  const rules = { grid, policy: ladder(), now: 2, notBefore: Number.NEGATIVE_INFINITY, marks: [] }
  const own = microseconds(() => gapOf(cover([window], panes, rules).runs))
  marks.push({ name: 'lookup of 720 buckets ≤ 5 µs', isMet: own <= 5 })
  console.log(`lookup  720 buckets in 4 panes       ${shown(own)} µs`)
}

/** Everything is fresh, in as many clocks: the cost of policies whose TTLs fall with age, against the published ladder. */
function benchPlateaus(buckets: number, clocks: number): void {
  const [from, to] = [firstBucket, firstBucket + buckets]
  const width = buckets / clocks
  const now = to * grid.step + 100
  const panes = Array.from({ length: clocks }, (_, i) =>
    new PaneBuilder(1).finish({
      interval: { from: from + i * width, to: from + (i + 1) * width },
      fetchedAt: now - 1 - i,
      slab: Buffer.alloc(0),
    }),
  )
  const lookup = (policy: TtlPolicy) => {
    const rules = { grid, policy, now, notBefore: Number.NEGATIVE_INFINITY, marks: [] }
    return () => gapOf(cover([{ from, to }], panes, rules).runs)
  }
  const actions = [lookup(ladder()), lookup(plateaus())] as const
  if (actions.some((action) => action() !== undefined)) throw new Error('not a full hit')
  const [own, flat] = inTurn(...actions)
  console.log(
    `lookup  ${`${buckets} buckets in ${clocks} clocks`.padEnd(28)} ${shown(own)} µs  plateaus ${shown(flat)} µs  ${(flat / own).toFixed(2)} ×`,
  )
}

const all = forms()
for (const form of all) benchIngest(form)
for (const form of all) for (const count of [1, 2, 4]) benchSplice(form, count)
benchLookup(all[1]!)
benchPlateaus(1440, 1)
benchPlateaus(1440, 24)
benchPlateaus(180, 1)

const missed = marks.filter((mark) => !mark.isMet)
for (const { name } of missed) console.log(`missed: ${name}`)
process.exitCode = missed.length > 0 ? 1 : 0
