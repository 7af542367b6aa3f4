/**
 * Full misses: the time that the proxy adds to the database's own, and whether the first byte comes before its last;
 * beside a program that only forwards bytes, which is the lower bound for Node.
 */
import { request } from 'node:http'
import { systemClock } from '../../src/core/clock.ts'
import { large, pathOf, windowOf } from './panels.ts'

interface Timed {
  readonly firstByteMs: number
  readonly lastByteMs: number
}

const turns = 40
/** A proxy goes on working after its answer, on the core that the next one is measured on. */
const restMs = 30

export interface Rival {
  readonly name: string
  readonly url: string
}

/** The first is the database itself. */
export async function coldMisses(rivals: readonly Rival[]): Promise<void> {
  const results = rivals.map((): Timed[] => [])
  for (let turn = 0; turn < turns; turn++) {
    // Another phase is another key: nothing of it is stored.
    const path = pathOf(large, windowOf(large, 0, turn + 1))
    for (const [index, { url }] of rivals.entries()) results[index]!.push(await rested(url + path))
  }
  const of = (index: number, what: keyof Timed): number =>
    results[index]!.map((each) => each[what]).toSorted((a, b) => a - b)[turns >> 1]!
  const directMs = of(0, 'lastByteMs')
  const cells = rivals.map(({ name }, index) => {
    const lastMs = of(index, 'lastByteMs')
    const added = index === 0 ? '' : ` (+${((100 * (lastMs - directMs)) / directMs).toFixed(0)} %)`
    return `${name} ${of(index, 'firstByteMs').toFixed(2)} to ${lastMs.toFixed(2)} ms${added}`
  })
  console.log(`cold miss large, first to last byte: ${cells.join(', ')}`)
}

async function rested(url: string): Promise<Timed> {
  await new Promise<void>((resolve) => void systemClock.after(restMs, resolve))
  return timed(url)
}

function timed(url: string): Promise<Timed> {
  return new Promise((resolve, reject) => {
    const began = systemClock.elapsed()
    let firstByteMs = 0
    request(url, (response) => {
      response.on('data', () => {
        if (firstByteMs === 0) firstByteMs = systemClock.elapsed() - began
      })
      response.on('end', () => resolve({ firstByteMs, lastByteMs: systemClock.elapsed() - began }))
    })
      .on('error', reject)
      .end()
  })
}
