/** Full misses: what the proxy adds to the database's own time, and whether the first byte comes before its last. */
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

export async function coldMisses(direct: string, proxy: string): Promise<void> {
  const results: { direct: Timed; proxy: Timed }[] = []
  for (let turn = 0; turn < turns; turn++) {
    // Another phase is another key: nothing of it is stored.
    const path = pathOf(large, windowOf(large, 0, turn + 1))
    results.push({ direct: await rested(direct + path), proxy: await rested(proxy + path) })
  }
  const of = (pick: (result: (typeof results)[number]) => number): number =>
    results.map(pick).toSorted((a, b) => a - b)[turns >> 1]!
  const [directMs, proxyMs] = [of((each) => each.direct.lastByteMs), of((each) => each.proxy.lastByteMs)]
  console.log(
    `cold miss large: Prometheus ${directMs.toFixed(1)} ms, Windowpane ${proxyMs.toFixed(1)} ms (+${((100 * (proxyMs - directMs)) / directMs).toFixed(0)} %); first byte ${of((each) => each.direct.firstByteMs).toFixed(1)} / ${of((each) => each.proxy.firstByteMs).toFixed(1)} ms`,
  )
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
