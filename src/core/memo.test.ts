import assert from 'node:assert/strict'
import test from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { BytesMemo, Memo } from './memo.ts'

test('a memoised value equals the computed one, and is computed once while it is held', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 })), (texts) => {
      let made = 0
      const memo = new Memo({ maxTexts: 1000, maxCharacters: 10_000 }, (text) => {
        made++
        return { text }
      })
      for (const text of texts) assert.equal(memo.get(text).text, text)
      assert.equal(made, new Set(texts).size)
    }),
  )
})

test('texts in repeated use survive a flood of others; the flood is evicted', () => {
  let made = 0
  const memo = new Memo({ maxTexts: 100, maxCharacters: 1_000_000 }, (text) => {
    made++
    return text.length
  })
  for (let i = 0; i < 10_000; i++) {
    memo.get('asked again and again')
    memo.get(`once ${i}`)
  }
  assert.equal(made, 10_001)
  memo.get('once 0')
  assert.equal(made, 10_002)
})

test('long texts count for their length', () => {
  let made = 0
  const memo = new Memo({ maxTexts: 1000, maxCharacters: 1000 }, () => ++made)
  for (let i = 0; i < 4; i++) memo.get(`${i}`.repeat(400))
  memo.get('0'.repeat(400))
  assert.equal(made, 5)
})

test('bytes: a memoised value equals the computed one, and is computed once while it is held', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3 })), (all) => {
      let made = 0
      const memo = new BytesMemo({ maxEntries: 1000, maxBytes: 10_000 }, (bytes) => {
        made++
        return { hex: bytes.toString('hex') }
      })
      const texts = all.map((bytes) => Buffer.from(bytes).toString('hex'))
      for (const hex of texts) assert.equal(memo.get(Buffer.from(hex, 'hex')).hex, hex)
      assert.equal(made, new Set(texts).size)
    }),
  )
})

test('bytes that are overwritten afterwards are remembered as they were', () => {
  const memo = new BytesMemo({ maxEntries: 10, maxBytes: 100 }, (bytes) => bytes.toString())
  const bytes = Buffer.from('one')
  assert.equal(memo.get(bytes), 'one')
  bytes.write('two')
  assert.equal(memo.get(bytes), 'two')
  assert.equal(memo.get(Buffer.from('one')), 'one')
})

test('two that share a checksum are distinguished', () => {
  const [one, other] = colliding()
  const memo = new BytesMemo({ maxEntries: 10, maxBytes: 1000 }, (bytes) => bytes.toString('hex'))
  for (const bytes of [one, other, one, one, other]) assert.equal(memo.get(bytes), bytes.toString('hex'))
})

/** Four bytes can be chosen so that any checksum results. */
function colliding(): [Buffer, Buffer] {
  const seen = new Map<number, number>()
  for (let i = 0; ; i++) {
    const bytes = Buffer.alloc(8)
    bytes.writeUInt32LE(Math.imul(i, 0x9e3779b1) >>> 0)
    bytes.writeUInt32LE(i, 4)
    const checksum = crc32(bytes)
    const before = seen.get(checksum)
    if (before !== undefined) {
      const other = Buffer.alloc(8)
      other.writeUInt32LE(Math.imul(before, 0x9e3779b1) >>> 0)
      other.writeUInt32LE(before, 4)
      return [bytes, other]
    }
    seen.set(checksum, i)
  }
}

test('bytes: a value in repeated use survives a flood of others; the flood is evicted', () => {
  for (const bounds of [
    { maxEntries: 100, maxBytes: 1_000_000 },
    { maxEntries: 1_000_000, maxBytes: 2_000 },
  ]) {
    let made = 0
    const memo = new BytesMemo(bounds, () => ++made)
    for (let i = 0; i < 10_000; i++) {
      memo.get(Buffer.from('again and again'))
      memo.get(Buffer.from(`once ${i}`))
    }
    assert.equal(made, 10_001)
    memo.get(Buffer.from('once 0'))
    assert.equal(made, 10_002)
  }
})
