/** The mutations that testBackend applies to requests, answers and windows: cuts, damage and noise. */
import type { WireRequest } from '../backends/backend.ts'
import type { Interval } from '../core/interval.ts'
import { pick, type Random, wholeNumber } from './random.ts'

export function chunksOf(bytes: Uint8Array, size: () => number): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += chunks.at(-1)!.length) {
    chunks.push(bytes.subarray(at, at + size()))
    // An empty chunk is part of the game, but it must not be all of it.
    if (chunks.at(-1)!.length === 0) chunks.push(bytes.subarray(at, at + 1))
  }
  return chunks
}

/** An interval in one to four pieces, in order, none empty. */
export function pieces(random: Random, { from, to }: Interval): Interval[] {
  const cuts = new Set([from])
  const count = wholeNumber(random, 0, 3)
  for (let i = 0; i < count; i++) cuts.add(wholeNumber(random, from, to - 1))
  const starts = [...cuts].sort((a, b) => a - b)
  return starts.map((start, i) => ({ from: start, to: starts[i + 1] ?? to }))
}

/** The bytes with one piece of them flipped, dropped, doubled, moved or invented. */
export function corrupt(random: Random, bytes: Buffer): Buffer {
  const at = wholeNumber(random, 0, bytes.length - 1)
  const end = Math.min(bytes.length, at + pick(random, [1, 1, 1, 2, 5, 20]))
  const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)]
  switch (wholeNumber(random, 0, 4)) {
    case 0:
      return Buffer.concat([before, after])
    case 1:
      return Buffer.concat([before, piece, piece, after])
    case 2:
      return Buffer.concat([before, noise(random, piece.length), after])
    case 3:
      return Buffer.concat([before, pick(random, punctuation), after])
    default: {
      const split = wholeNumber(random, 0, after.length)
      return Buffer.concat([before, after.subarray(0, split), piece, after.subarray(split)])
    }
  }
}

const punctuation = [...'"\\,[]{}:.0 \n\0'].map((char) => Buffer.from(char))

const noise = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => wholeNumber(random, 0, 255)))

/** An implausible request, as often as not made from a plausible one. */
export function arbitraryRequest(random: Random, likely: WireRequest): WireRequest {
  const text = () => noise(random, wholeNumber(random, 0, 30)).toString('latin1')
  const damaged = (part: string) =>
    part === '' ? text() : corrupt(random, Buffer.from(part, 'latin1')).toString('latin1')
  return {
    method: pick(random, [likely.method, likely.method, 'GET', 'POST', text()]),
    path: pick(random, [likely.path, likely.path, damaged(likely.path), text()]),
    search: pick(random, [likely.search, damaged(likely.search), damaged(likely.search), text()]),
    headers: pick(random, [likely.headers, likely.headers, [text(), text()]]),
    body: pick(random, [
      likely.body,
      Buffer.from(damaged(Buffer.from(likely.body).toString('latin1')), 'latin1'),
    ]),
  }
}
