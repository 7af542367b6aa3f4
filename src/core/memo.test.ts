import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Memo } from './memo.ts'

test('what is remembered is what would be made, and is made once while it is', () => {
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

test('texts that are asked for again survive a flood of others; the flood is forgotten', () => {
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
