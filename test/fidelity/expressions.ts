/** Generated PromQL: expressions inside of each other in ways that no list of forms has. */
import type { Random } from './random.ts'

export interface Vocabulary {
  readonly selectors: readonly string[]
  /** The ranges that a selector has outside of functions: none, or some where it must have one. */
  readonly bareRanges: readonly string[]
  /** Behind a selector and its range. */
  readonly modifiers: readonly string[]
  /** Functions of one range, of one vector, and aggregations with their groupings. */
  readonly ofRanges: readonly string[]
  readonly ofVectors: readonly string[]
  readonly aggregations: readonly string[]
  /** Between two vectors, and between a vector and a number. */
  readonly operators: readonly string[]
  readonly numberOperators: readonly string[]
}

const ranges = ['1s', '7s', '16s', '90s', '5m', '17m']
const numbers = ['0', '1', '-1.5', '0.5', '40', 'Inf']

/** An instant vector with up to `depth` levels of brackets. */
export function someExpression(random: Random, words: Vocabulary, depth: number): string {
  const { pick } = random
  const inner = (): string => `(${someExpression(random, words, depth - 1)})`
  const selected = (some: readonly string[]): string => `${pick(words.selectors)}${pick(some)}`
  const range = (): string =>
    depth > 0 && random.chance(0.25)
      ? `${inner()}[${pick(ranges)}:${pick(['', '7s', '1m'])}]`
      : selected(ranges.map((each) => `[${each}]`))
  const ofRange = () => `${pick(words.ofRanges)}(${range()}${pick(words.modifiers)})`
  const leaves = [
    ofRange,
    ofRange,
    ofRange,
    () => `quantile_over_time(${pick(['0.3', '1'])}, ${range()})`,
    () => `${selected(words.bareRanges)}${pick(words.modifiers)}`,
    () => `${selected(words.bareRanges)}${pick(words.modifiers)}`,
  ]
  const nodes = [
    () => `${pick(words.ofVectors)}${inner()}`,
    () => `${pick(words.aggregations)} ${inner()}`,
    () => `${pick(words.aggregations)} ${inner()}`,
    () => `${inner()} ${pick(words.operators)} ${inner()}`,
    () => `${inner()} ${pick(words.numberOperators)} ${pick(numbers)}`,
    () => `${pick([...numbers, 'time()'])} ${pick(words.numberOperators)} ${inner()}`,
    () => `clamp(${inner()}, ${pick(numbers)}, 50)`,
    () => `quantile(0.3, ${inner()})`,
  ]
  return pick(depth > 0 ? [...leaves, ...nodes] : leaves)()
}

/** `by` and `without` groupings of each of `names`. */
export const grouped = (names: readonly string[], groupings: readonly string[]): readonly string[] =>
  names.flatMap((name) => groupings.map((grouping) => `${name}${grouping}`))
