/** How many writes an answer takes that is there as a whole. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import test from 'node:test'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { WholeBody } from './exchange.ts'
import { PlainReply } from './plain-reply.ts'
import { maxShortBytes } from './send-buffer.ts'

/** What a reply writes to its socket to send this body; all that is corked leaves together, in pieces. */
function written(body: WholeBody): { readonly writes: number; readonly isCorked: boolean; body: string } {
  const chunks: Buffer[] = []
  let isCorked = false
  const socket = {
    writableLength: 0,
    cork: () => {
      isCorked = true
    },
    uncork() {},
    write: (chunk: string | Buffer) => void chunks.push(Buffer.from(chunk as string, 'latin1')),
  }
  const connection = { clock: fakeClock(), nodeResponse: () => undefined, replyEnded() {} }
  const reply = new PlainReply({ ...connection, socket: socket as unknown as Socket })
  assert.equal(reply.sendWhole(200, { given: [], own: ['Content-Encoding', 'gzip'] }, body), true)
  const text = Buffer.concat(chunks).toString('latin1')
  return { writes: chunks.length, isCorked, body: text.slice(text.indexOf('\r\n\r\n') + 4) }
}

const pieces = (...lengths: number[]) => lengths.map((length, i) => Buffer.alloc(length, `${i}`))
const textOf = (body: readonly Buffer[]) => Buffer.concat(body).toString('latin1')

test('a short answer is one write, whether it is written, kept or put together from pieces', () => {
  const body = { length: 300, write: (target: Uint8Array) => void target.fill(97) }
  assert.deepEqual(written(body), { writes: 1, isCorked: false, body: 'a'.repeat(300) })
  for (const each of [pieces(300), pieces(10, 300, 8), pieces(0), pieces(maxShortBytes - 1, 1)])
    assert.deepEqual(written(each), { writes: 1, isCorked: false, body: textOf(each) })
})

test('a longer one is sent from where it lies', () => {
  for (const each of [pieces(maxShortBytes + 1), pieces(10, maxShortBytes)])
    assert.deepEqual(written(each), { writes: 2, isCorked: true, body: textOf(each) })
  const three = pieces(maxShortBytes, 1, 100)
  assert.deepEqual(written(three), { writes: 4, isCorked: true, body: textOf(three) })
})
