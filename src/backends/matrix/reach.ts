/**
 * The interval of data that a PromQL expression reads at a step: the lookback of its selectors, and the offsets and
 * subqueries around it. The grammar lets modifiers wrap more than they belong to (`a + b offset 5m`): the result may be
 * too far, never too near.
 */
import type { SyntaxNode, SyntaxNodeRef } from '@lezer/common'
import { words } from './names.ts'
import { parseStep } from './time.ts'

/** Milliseconds; infinite where a fixed time or an unreadable duration is in the way, negatively where there is no selector. */
export interface Reached {
  /** How far back the selectors without a range reach, without the lookback delta that they have instead. Below 0: after the step. */
  readonly instantMs: number
  /** How far back the selectors with a range reach. */
  readonly rangeMs: number
  /** How far after the step any of them reaches; 0 where none does. */
  readonly aheadMs: number
}

/** Prometheus' own default. */
const defaultDeltaMs = 300_000

/** `delta` is the lookback of the request; the server's own setting is not known. */
export function lookbackOf({ instantMs, rangeMs }: Reached, delta: string | undefined): number {
  const deltaMs = delta === undefined || delta === '' ? 0 : readDuration(delta)
  const looksBack = instantMs > Number.NEGATIVE_INFINITY
  return Math.max(0, rangeMs, looksBack ? instantMs + Math.max(defaultDeltaMs, deltaMs) : 0)
}

/** An unreadable duration may be of any length. */
const readDuration = (text: string): number => parseStep(text) ?? Number.POSITIVE_INFINITY

const wrappers = words('MatrixSelector SubqueryExpr OffsetExpr StepInvariantExpr')

/** The nodes that a modifier can belong to. */
const modified: ReadonlySet<string> = new Set(['VectorSelector', ...wrappers])

/** Whether a modifier wraps more than it belongs to. */
export const isLoose = (modifier: SyntaxNode): boolean => !modified.has(modifier.firstChild!.name)

/** The shift that a node adds to the reach of its selectors: at most, and at least. */
interface Shift {
  readonly most: number
  readonly least: number
}

/** Follows a walk over the tree. */
export class Reach {
  /** One entry per wrapper around the visited node: the sum of the wrapper and all wrappers around it. */
  readonly #around: Shift[] = [{ most: 0, least: 0 }]
  #instantMs = Number.NEGATIVE_INFINITY
  #rangeMs = Number.NEGATIVE_INFINITY
  #aheadMs = 0

  enter(node: SyntaxNodeRef, text: string): void {
    const around = this.#around.at(-1)!
    if (wrappers.has(node.name)) {
      const { most, least } = shiftOf(node.node, text)
      this.#around.push({ most: around.most + most, least: around.least + least })
    } else if (node.name === 'VectorSelector') this.#select(node.node, around)
  }

  /** Only of nodes whose children were visited. */
  leave(name: string): void {
    if (wrappers.has(name)) this.#around.pop()
  }

  get reached(): Reached {
    return { instantMs: this.#instantMs, rangeMs: this.#rangeMs, aheadMs: this.#aheadMs }
  }

  #select(selector: SyntaxNode, { most, least }: Shift): void {
    this.#aheadMs = Math.max(this.#aheadMs, -least)
    if (selector.parent?.name === 'MatrixSelector') this.#rangeMs = Math.max(this.#rangeMs, most)
    else this.#instantMs = Math.max(this.#instantMs, most)
  }
}

function shiftOf(node: SyntaxNode, text: string): Shift {
  // The time after @ may be any, also one after the step; whether it is old enough is judged by the time itself.
  if (node.name === 'StepInvariantExpr') return { most: Number.POSITIVE_INFINITY, least: 0 }
  // Of a subquery the first is its range; its resolution only selects instants within it.
  const duration = node.getChild(node.name === 'OffsetExpr' ? 'OffsetDurationExpr' : 'DurationExpr')
  const [, sign, length] = /^([-+]?)\s*(.*)$/s.exec(
    duration === null ? '' : text.slice(duration.from, duration.to),
  )!
  const isNegative = sign === '-'
  const ms = (isNegative ? -1 : 1) * readDuration(length!)
  if (!Number.isFinite(ms)) return { most: Number.POSITIVE_INFINITY, least: isNegative ? ms : 0 }
  // A range reaches from its beginning to the step itself.
  if (node.name !== 'OffsetExpr') return { most: ms, least: 0 }
  // A node that the modifier does not belong to is not shifted.
  return isLoose(node) ? { most: Math.max(0, ms), least: Math.min(0, ms) } : { most: ms, least: ms }
}
