/**
 * Which labels the series of a PromQL expression can have, where the expression alone determines it: an aggregation `by (a, b)`
 * has no others. Used to prove that a function that writes a label cannot make two series equal.
 */
import type { SyntaxNode } from '@lezer/common'
import { unquote, unreadable, words } from './names.ts'

/** At least the labels that a series can have; undefined where it can have any. */
export type LabelBound = ReadonlySet<string> | undefined

const none: LabelBound = new Set()
/** Deeper expressions are not worth the time. */
const maxDepth = 50

/** Aggregations whose results keep the labels of their argument. */
const keepsLabels = /^(?:topk|bottomk|limitk|limit_ratio)$/i
/** They have the labels of their matchers, or write one that is not read here. */
const writesOthers = words('absent absent_over_time histogram_quantiles info')

/** Whether `label_replace` or `label_join` gives every series of its argument a label that it cannot have had before. */
export function isWritingNewLabel(call: SyntaxNode, text: string): boolean {
  const [argument, label] = argumentsOf(call)
  const written = label && literalIn(label, text)
  const bound = argument && new LabelReader(text).of(argument)
  return written !== undefined && bound?.has(written) === false
}

class LabelReader {
  readonly #text: string
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  of(node: SyntaxNode): LabelBound {
    if (this.#depth >= maxDepth) return undefined
    this.#depth++
    const bound = this.#of(node)
    this.#depth--
    return bound
  }

  #of(node: SyntaxNode): LabelBound {
    switch (node.name) {
      case 'NumberDurationLiteral':
      case 'StringLiteral':
        return none
      case 'ParenExpr':
      case 'SubqueryExpr':
        return this.of(node.firstChild!)
      case 'UnaryExpr':
        return this.of(node.lastChild!)
      case 'FunctionCall':
        return this.#call(node)
      case 'AggregateExpr':
        return this.#aggregation(node)
      case 'BinaryExpr':
        return this.#binary(node)
      default:
        return undefined
    }
  }

  #call(node: SyntaxNode): LabelBound {
    const name = this.#read(node.firstChild!)
    const given = argumentsOf(node)
    if (writesOthers.has(name)) return undefined
    if (/^(?:scalar|vector|time|pi)$/.test(name)) return none
    if (name === 'label_replace' || name === 'label_join') {
      const written = given[1] && literalIn(given[1], this.#text)
      return written === undefined ? undefined : union(this.of(given[0]!), new Set([written]))
    }
    return given.map((each) => this.of(each)).reduce(union, none)
  }

  #aggregation(node: SyntaxNode): LabelBound {
    const operation = this.#read(node.firstChild!)
    const given = argumentsOf(node)
    const modifier = node.getChild('AggregateModifier')
    const grouped = this.#grouping(modifier?.getChild('GroupingLabels'))
    if (keepsLabels.test(operation)) return given[1] && this.of(given[1])
    if (modifier?.getChild('Without')) return this.of(given.at(-1)!)
    if (!/^count_values$/i.test(operation)) return grouped
    const written = given[0] && literalIn(given[0], this.#text)
    return written === undefined ? undefined : union(grouped, new Set([written]))
  }

  #binary(node: SyntaxNode): LabelBound {
    const [left, right] = [node.firstChild!, node.lastChild!]
    if (node.getChild('FillModifier') !== null) return undefined
    if (node.getChild('And') !== null || node.getChild('Unless') !== null) return this.of(left)
    const matching = node.getChild('MatchingModifierClause')
    const isGrouped =
      matching !== null && (matching.getChild('GroupLeft') ?? matching.getChild('GroupRight')) !== null
    if (matching?.getChild('On') && !isGrouped && node.getChild('Or') === null)
      return this.#grouping(matching.getChild('GroupingLabels'))
    const both = union(this.of(left), this.of(right))
    // Labels that are copied from one side to the other.
    return isGrouped ? union(both, this.#grouping(matching.lastChild)) : both
  }

  /** Of a list in brackets; none where there is no list. */
  #grouping(labels: SyntaxNode | null | undefined): LabelBound {
    const found = new Set<string>()
    const isList = labels?.name === 'GroupingLabels'
    for (let node = isList ? labels.firstChild : null; node !== null; node = node.nextSibling) {
      const label = unquote(this.#read(node))
      if (label === unreadable) return undefined
      found.add(label)
    }
    return found
  }

  #read(node: SyntaxNode): string {
    return this.#text.slice(node.from, node.to)
  }
}

const union = (a: LabelBound, b: LabelBound): LabelBound => a && b && new Set([...a, ...b])

const argumentsOf = (call: SyntaxNode): readonly SyntaxNode[] =>
  call.getChild('FunctionCallBody')?.getChildren('Expr') ?? []

/** The text of a string literal; undefined where it has escapes. */
const literalIn = (node: SyntaxNode, text: string): string | undefined =>
  node.name === 'StringLiteral' ? unquote(text.slice(node.from, node.to)) || undefined : undefined
