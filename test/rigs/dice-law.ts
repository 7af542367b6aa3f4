import test from 'node:test'
import fc from 'fast-check'
import { type Dice, diceOf } from '../../src/testing/pane-model.ts'

/** Registers a test of a law for every throw of the dice; a failure is shown with the fewest throws. */
export function diceLaw(name: string, check: (dice: Dice) => void): void {
  test(name, () => {
    const throws = fc.uint8Array({ minLength: 100, maxLength: 2000, size: 'max' })
    fc.assert(
      fc.property(throws, (bytes) => check(diceOf(bytes))),
      { numRuns: 500 },
    )
  })
}
