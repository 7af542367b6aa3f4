/**
 * Gzip answers of windows never compressed before, put together from pieces against compressed whole:
 * `npm run bench:gzip`. Time and size as ratios of one run. Exits with 1 where a mark is missed.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Decomposed } from '../src/backends/backend.ts'
import { MatrixSink } from '../src/backends/matrix/decompose.ts'
import { recompose } from '../src/backends/matrix/recompose.ts'
import { type Pane, slice } from '../src/core/pane.ts'
import { blockBuckets, blocksInside, gather, makeBlocks } from '../src/proxy/compression/pieces-block.ts'
import { splice, spliceRoom } from '../src/proxy/compression/pieces-splice.ts'
import { seededRandom } from '../src/testing/random.ts'
import { type Form, forms, grid } from './forms.ts'
import { inTurn, microseconds, shown } from './measure.ts'

const level = { level: 1 }
const marks: { name: string; isMet: boolean }[] = []

type Values = Readonly<Record<string, (form: Form) => Buffer>>

/** The panel of all benchmarks repeats itself from series to series, which only whole compression can use. */
const values: Values = {
  'repeated from series to series': ({ body }) => body,
  'gauges, six decimals': (form) => replaced(form, 50, (value, random) => value + random - 0.5, 6),
  'counters, whole numbers': (form) => replaced(form, 1e6, (value, random) => value + 90 * random, 0),
  'rates, all digits': (form) => replaced(form, 0, (_, random) => 100 * random, 17),
}

function replaced(
  form: Form,
  first: number,
  next: (value: number, random: number) => number,
  digits: number,
): Buffer {
  const random = seededRandom(1)
  let value = first
  const text = form.body.toString().replace(/"[0-9.]+"\]/g, () => {
    value = next(value, random())
    return `"${digits > 10 ? value : value.toFixed(digits)}"]`
  })
  return Buffer.from(text)
}

function ingest(body: Buffer, { interval }: Form): Pane {
  const sink = new MatrixSink(grid, interval)
  sink.write(body)
  return (sink.end(1) as Decomposed).panes[0]!
}

/** All windows that lack a few buckets at both ends, one after the other. */
function* sliding(pane: Pane): Generator<readonly Pane[], never> {
  const length = pane.to - pane.from - blockBuckets
  for (let shift = 0; ; shift = (shift + 1) % blockBuckets)
    yield [slice(pane, { from: pane.from + shift, to: pane.from + shift + length })]
}

function bench(name: string, form: Form): void {
  const pane = ingest(values[name]!(form), form)
  const range = blocksInside(pane)
  const blocks = makeBlocks(gather(pane.body, range))
  const made = { first: range.from, blocks }
  const windows = sliding(pane)
  const target = Buffer.allocUnsafeSlow(form.body.length * 2)
  const sizes = { pieces: 0, whole: 0 }
  for (let i = 0; i < blockBuckets; i++) {
    const answer = recompose(windows.next().value)
    const plain = Buffer.alloc(answer.length)
    answer.write(plain)
    const end = splice(answer, () => made, target.subarray(0, spliceRoom(answer.length)))
    if (!gunzipSync(target.subarray(0, end)).equals(plain)) throw new Error(`${name}: the splice is wrong`)
    sizes.pieces += end
    sizes.whole += gzipSync(plain, level).length
  }
  const fromPieces = () => void splice(recompose(windows.next().value), () => made, target)
  const compressed = () => {
    const answer = recompose(windows.next().value)
    answer.write(target)
    gzipSync(target.subarray(0, answer.length), level)
  }
  const [own, whole] = inTurn(fromPieces, compressed, 10)
  const making = microseconds(() => makeBlocks(gather(pane.body, range)), 3)
  const gathering = microseconds(() => gather(pane.body, range), 5)
  const ratio = sizes.pieces / sizes.whole
  marks.push({ name: `${name}: put together in 2 ms`, isMet: own <= 2000 })
  if (name !== 'repeated from series to series')
    marks.push({ name: `${name}: no more than 1.35 × the bytes of level 1`, isMet: ratio <= 1.35 })
  const held = blocks.reduce((sum, { bytes, table }) => sum + bytes.length + table.byteLength, 0)
  console.log(
    `${name.padEnd(32)} pieces ${shown(own)} µs  whole ${shown(whole)} µs  ${(whole / own).toFixed(0)} ×;` +
      ` bytes ${ratio.toFixed(2)} × whole; made in ${shown(making / 1000)} ms, of which ${shown(gathering / 1000)} ms` +
      ` where requests are answered; held ${(held / pane.body.bytes.length).toFixed(2)} × pane`,
  )
}

const panel = forms()[1]!
for (const name of Object.keys(values)) bench(name, panel)

const missed = marks.filter((mark) => !mark.isMet)
for (const { name } of missed) console.log(`missed: ${name}`)
process.exitCode = missed.length > 0 ? 1 : 0
