/**
 * Hits over HTTP from the embedded store with no memory in front of it, against hits from memory: `npm run
 * bench:lmdb-http [directory]`. Exits with 1 where the mark is missed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

const rounds = 5
const windows = 16
const mark = 0.5
const begin = 1_767_225_600

const path = (series: number, points: number, shift: number): string =>
  `/api/v1/query_range?query=stub_${series}_hit&start=${begin + 60 * shift}&end=${begin + 60 * (shift + points - 1)}&step=60`

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const wrk = await findWrk()
const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'windowpane-bench-'))
const database = await startNode(1, ['bench/stub-database.ts'])
const memory = await startNode(0, ['bench/lmdb-server.ts', database.url])
const file = await startNode(0, ['bench/lmdb-server.ts', database.url, directory])

let isMet = true
for (const [name, series, points] of [
  ['medium', 20, 240],
  ['large', 100, 720],
] as const) {
  const paths = Array.from({ length: windows }, (_, shift) => path(series, points, shift))
  for (const { url } of [memory, file]) for (const each of paths) await readWhole(url + each)
  for (const connections of [1, 8]) {
    const results: { memory: number; file: number }[] = []
    for (let round = 0; round < rounds; round++) {
      const load = { paths, connections, seconds: 1, core: 1 }
      const [near, far] = [await wrk.load(memory.url, load), await wrk.load(file.url, load)]
      results.push({ memory: near.perSecond, file: far.perSecond })
    }
    const ratio = median(results.map((each) => each.file / each.memory))
    isMet &&= ratio >= mark
    console.log(
      `${name.padEnd(7)} ${connections} connections: memory ${median(results.map((each) => each.memory)).toFixed(0)} hits/s, lmdb ${median(results.map((each) => each.file)).toFixed(0)} hits/s, ratio ${ratio.toFixed(2)} (mark: ${mark})`,
    )
  }
}
for (const { child } of [memory, file, database]) child.kill()
rmSync(directory, { recursive: true })
process.exitCode = isMet ? 0 : 1
