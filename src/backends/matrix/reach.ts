/**
 * How far before a step the data lies that a PromQL expression reads there: the lookback of a selector, and the offsets
 * and subqueries around it. The grammar lets modifiers wrap more than they belong to (`a + b offset 5m`): the result
 * may be too far, never too near.
 */
import type { SyntaxNode, SyntaxNodeRef } from '@lezer/common'
import { parseStep } from './time.ts'

/** Milliseconds; infinite where a fixed time or an unreadable duration is in the way, negatively where there is no selector. */
export interface Reached {
  /** Of the selectors without a range, without the lookback delta that they have instead. */
  readonly instantMs: number
  /** Of the selectors with a range. */
  readonly rangeMs: number
}

/** Prometheus' own default. */
const defaultDeltaMs = 300_000

/** `delta` is the lookback_delta parameter of the request; the server's own setting is not known. */
export function lookbackOf({ instantMs, rangeMs }: Reached, delta: string | undefined): number {
  const deltaMs = delta === undefined || delta === '' ? 0 : readDuration(delta)
  const looksBack = instantMs >= 0
  return Math.max(0, rangeMs, looksBack ? instantMs + Math.max(defaultDeltaMs, deltaMs) : 0)
}

/** An unreadable duration may be of any length. */
const readDuration = (text: string): number => parseStep(text) ?? Number.POSITIVE_INFINITY

const wrappers: ReadonlySet<string> = new Set([
  'MatrixSelector',
  'SubqueryExpr',
  'OffsetExpr',
  'StepInvariantExpr',
])

/** Follows a walk over the tree. */
export class Reach {
  /** One entry per wrapper around the node that is being visited: how far back it and those around it reach. */
  readonly #around: number[] = [0]
  #instantMs = Number.NEGATIVE_INFINITY
  #rangeMs = Number.NEGATIVE_INFINITY

  enter(node: SyntaxNodeRef, text: string): void {
    const around = this.#around.at(-1)!
    if (wrappers.has(node.name)) this.#around.push(around + lengthOf(node.node, text))
    else if (node.name === 'VectorSelector') this.#select(node.node, around)
  }

  /** Only of nodes whose children were visited. */
  leave(name: string): void {
    if (wrappers.has(name)) this.#around.pop()
  }

  get reached(): Reached {
    return { instantMs: this.#instantMs, rangeMs: this.#rangeMs }
  }

  #select(selector: SyntaxNode, around: number): void {
    if (selector.parent?.name === 'MatrixSelector') this.#rangeMs = Math.max(this.#rangeMs, around)
    else this.#instantMs = Math.max(this.#instantMs, around)
  }
}

/** How much further back a wrapper makes its selectors reach. */
function lengthOf(node: SyntaxNode, text: string): number {
  // The time after @ may be any, also one after the step.
  if (node.name === 'StepInvariantExpr') return Number.POSITIVE_INFINITY
  // Of a subquery the first is its range; its resolution only selects instants within it.
  const duration = node.getChild(node.name === 'OffsetExpr' ? 'OffsetDurationExpr' : 'DurationExpr')
  return duration === null ? Number.POSITIVE_INFINITY : readDuration(text.slice(duration.from, duration.to))
}
