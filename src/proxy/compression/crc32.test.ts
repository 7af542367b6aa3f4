import assert from 'node:assert/strict'
import test from 'node:test'
import { crc32 } from 'node:zlib'
import { seededRandom, wholeNumber } from '../../testing/random.ts'
import { joinChecksums, shiftOf } from './crc32.ts'

test('the checksum of a whole follows from those of its parts, wherever it is cut', () => {
  const random = seededRandom(1)
  for (let round = 0; round < 500; round++) {
    const bytes = Buffer.from(Array.from({ length: wholeNumber(random, 0, 700) }, () => random() * 256))
    const cut = wholeNumber(random, 0, bytes.length)
    const [before, behind] = [bytes.subarray(0, cut), bytes.subarray(cut)]
    assert.equal(joinChecksums(crc32(before), crc32(behind), shiftOf(behind.length)), crc32(bytes))
  }
})

test('lengths of many bits', () => {
  for (const length of [65_535, 65_536, 10_000_019]) {
    const behind = Buffer.alloc(length, 'windowpane')
    const whole = crc32(behind, crc32('before'))
    assert.equal(joinChecksums(crc32('before'), crc32(behind), shiftOf(length)), whole)
  }
})

test('nothing before, nothing behind', () => {
  assert.equal(joinChecksums(0, crc32('text'), shiftOf(4)), crc32('text'))
  assert.equal(joinChecksums(crc32('text'), 0, shiftOf(0)), crc32('text'))
})
