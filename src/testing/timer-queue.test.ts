import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom, wholeNumber } from './random.ts'
import { type PendingTimer, TimerQueue } from './timer-queue.ts'

test('timers come out by their time, then by the order in which they were set', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seededRandom(seed)
    const queue = new TimerQueue()
    let left: PendingTimer[] = []
    for (let order = 0; order < 200; order++) {
      const timer = { at: wholeNumber(random, 0, 20), order, action() {}, isCancelled: false }
      queue.add(timer)
      left.push(timer)
      if (random() < 0.2) timer.isCancelled = true
      if (random() < 0.6) continue
      const until = wholeNumber(random, 0, 20)
      left = left.filter(({ isCancelled }) => !isCancelled).sort((a, b) => a.at - b.at || a.order - b.order)
      const [first] = left
      const expected = first !== undefined && first.at <= until ? first : undefined
      assert.equal(queue.takeDue(until), expected)
      if (expected !== undefined) left.shift()
    }
  }
})
