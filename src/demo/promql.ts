/** The PromQL that the demo database speaks: selectors with = and !=, rate and increase, one aggregation, and 1+1. */
import type { SyntaxNode } from '@lezer/common'
import { unquote, unreadable } from '../backends/matrix/names.ts'
import { strictParser } from '../backends/matrix/promql.ts'
import { parseStep } from '../backends/matrix/time.ts'

export interface Matcher {
  readonly name: string
  readonly value: string
  readonly isEqual: boolean
}

export interface RangeFunction {
  readonly name: 'rate' | 'increase'
  readonly windowMs: number
}

export interface Aggregation {
  readonly name: 'sum' | 'avg' | 'min' | 'max' | 'count'
  readonly by: readonly string[]
}

export interface VectorQuery {
  readonly metric: string
  readonly matchers: readonly Matcher[]
  readonly rangeFunction?: RangeFunction
  readonly aggregation?: Aggregation
}

/** A sum of numbers: Grafana's check of a data source. */
export interface ScalarQuery {
  readonly scalar: number
}

export type Query = VectorQuery | ScalarQuery

export interface ParseError {
  readonly error: string
}

const aggregations: readonly string[] = ['sum', 'avg', 'min', 'max', 'count']
const functions: readonly string[] = ['rate', 'increase']

export function parseQuery(text: string): Query | ParseError {
  try {
    return new Reader(text).query(strictParser.parse(text).topNode.firstChild!)
  } catch (error) {
    if (error instanceof SyntaxError) return { error: error.message }
    throw error
  }
}

/** @throws SyntaxError where it meets what the demo database does not speak. */
class Reader {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  query(node: SyntaxNode): Query {
    if (node.name === 'NumberDurationLiteral') return { scalar: this.#number(node) }
    if (node.name === 'BinaryExpr' && node.getChild('Add') !== null)
      return { scalar: this.#number(node.firstChild!) + this.#number(node.lastChild!) }
    return node.name === 'AggregateExpr' ? this.#aggregate(node) : this.#vector(node)
  }

  #number(node: SyntaxNode): number {
    const number = Number(this.#read(node))
    return Number.isNaN(number) ? this.#refuse(node) : number
  }

  #aggregate(node: SyntaxNode): VectorQuery {
    const name = this.#oneOf(aggregations, node.firstChild!) as Aggregation['name']
    const modifier = node.getChild('AggregateModifier')
    if (modifier?.getChild('Without')) return this.#refuse(modifier)
    const labels = modifier?.getChild('GroupingLabels')?.getChildren('LabelName') ?? []
    const by = labels.map((label) => this.#read(label))
    return { ...this.#vector(this.#argument(node)), aggregation: { name, by } }
  }

  #vector(node: SyntaxNode): VectorQuery {
    if (node.name !== 'FunctionCall') return this.#selector(node)
    const name = this.#oneOf(functions, node.firstChild!) as RangeFunction['name']
    const argument = this.#argument(node)
    const windowMs = argument.name === 'MatrixSelector' && parseStep(this.#read(argument.lastChild!))
    if (!windowMs) return this.#refuse(argument)
    return { ...this.#selector(argument.firstChild!), rangeFunction: { name, windowMs } }
  }

  #argument(call: SyntaxNode): SyntaxNode {
    const [argument, ...others] = call.getChild('FunctionCallBody')?.getChildren('Expr') ?? []
    return argument === undefined || others.length > 0 ? this.#refuse(call) : argument
  }

  #selector(node: SyntaxNode): VectorQuery {
    const metric = node.name === 'VectorSelector' ? node.getChild('Identifier') : null
    if (metric === null) return this.#refuse(node)
    const matchers: Matcher[] = []
    for (let each = node.getChild('LabelMatchers')?.firstChild; each; each = each.nextSibling)
      matchers.push(this.#matcher(each))
    return { metric: this.#read(metric), matchers }
  }

  #matcher(node: SyntaxNode): Matcher {
    const [name, value] = [node.firstChild!, node.lastChild!].map((each) => this.#read(each))
    const text = unquote(value!)
    const operator = this.#oneOf(['=', '!='], node.getChild('MatchOp') ?? node)
    if (text === unreadable && value !== '""') return this.#refuse(node)
    return { name: unquote(name!), value: text, isEqual: operator === '=' }
  }

  #oneOf(known: readonly string[], node: SyntaxNode): string {
    const text = this.#read(node)
    return known.includes(text) ? text : this.#refuse(node)
  }

  #read(node: SyntaxNode): string {
    return this.#text.slice(node.from, node.to)
  }

  #refuse(node: SyntaxNode): never {
    throw new SyntaxError(
      `unexpected ${this.#read(node)}: the demo database speaks selectors, rate, increase and one aggregation`,
    )
  }
}
