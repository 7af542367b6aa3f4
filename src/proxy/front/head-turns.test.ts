import assert from 'node:assert/strict'
import test from 'node:test'
import { HeadTurns } from './head-turns.ts'

test('one piece is read in one turn, in the order in which they came', () => {
  const turns: (() => void)[] = []
  const log: string[] = []
  const heads = new HeadTurns((action) => turns.push(action))
  const again = () => heads.wait(() => log.push('again'))
  for (const name of ['a', 'b', 'c']) {
    heads.wait(() => {
      log.push(name)
      if (name === 'a') again()
    })
  }
  for (const expected of ['a', 'b', 'c', 'again']) {
    assert.equal(turns.length, 1)
    turns.shift()!()
    assert.deepEqual(log.splice(0), [expected])
  }
  assert.equal(turns.length, 0)
})
