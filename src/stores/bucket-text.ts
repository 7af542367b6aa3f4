/**
 * The levels of a token bucket as one flat text that programs in other languages can read: limits are separated by spaces,
 * and each is `name:level:capacity:unitsPerToken:creditPerMs`. Names contain neither spaces nor colons.
 */
import type { BucketLevel } from './cells.ts'

export const levelsText = (levels: readonly BucketLevel[]): string =>
  levels
    .map(({ name, level, capacity, unitsPerToken, creditPerMs }) =>
      [name, level, capacity, unitsPerToken, creditPerMs].join(':'),
    )
    .join(' ')

/** Empty where the text is damaged: the bucket is absent then. */
export function levelsIn(text: string): readonly BucketLevel[] {
  const levels = text.split(' ').map(levelIn)
  return levels.every((level) => level !== undefined) ? levels : []
}

function levelIn(text: string): BucketLevel | undefined {
  const [name = '', ...figures] = text.split(':')
  const numbers = figures.map(Number)
  const isWhole = numbers.length === 4 && numbers.every((number) => Number.isSafeInteger(number))
  if (name === '' || !isWhole) return undefined
  const [level, capacity, unitsPerToken, creditPerMs] = numbers as [number, number, number, number]
  return { name, level, capacity, unitsPerToken, creditPerMs }
}
