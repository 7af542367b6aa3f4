/** The PromQL that the demo database speaks: selectors with = and !=, rate and increase, one aggregation, and 1+1. */
import { units } from '../backends/matrix/time.ts'

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

const identifier = /^[a-zA-Z_:][\w:]*$/
const tokens = /\s*([a-zA-Z_:][\w:]*|"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?(?:ms|[smhdwy])?|!=|[^\s])/gy
const aggregations: readonly string[] = ['sum', 'avg', 'min', 'max', 'count']
const functions: readonly string[] = ['rate', 'increase']
const durations = new Map(units)

export function parseQuery(text: string): Query | ParseError {
  const scalar = /^\s*(\d+(?:\.\d+)?)(?:\s*\+\s*(\d+(?:\.\d+)?))?\s*$/.exec(text)
  if (scalar !== null) return { scalar: Number(scalar[1]) + Number(scalar[2] ?? 0) }
  try {
    return new Parser(text).query()
  } catch (error) {
    if (error instanceof Refusal) return { error: error.message }
    throw error
  }
}

/** Ends a parse from any depth; caught in parseQuery only. */
class Refusal extends Error {}

class Parser {
  readonly #tokens: string[]
  #at = 0

  constructor(text: string) {
    this.#tokens = [...text.matchAll(tokens)].map((match) => match[1]!)
  }

  query(): VectorQuery {
    const query =
      aggregations.includes(this.#peek()) && this.#isCallAhead() ? this.#aggregate() : this.#vector()
    if (this.#at < this.#tokens.length) throw this.#unexpected()
    return query
  }

  #aggregate(): VectorQuery {
    const name = this.#next() as Aggregation['name']
    const before = this.#peek() === 'by' ? this.#by() : undefined
    this.#expect('(')
    const inner = this.#vector()
    this.#expect(')')
    const by = before ?? (this.#peek() === 'by' ? this.#by() : [])
    return { ...inner, aggregation: { name, by } }
  }

  #by(): string[] {
    this.#expect('by')
    return this.#list('(', ')', () => this.#identifier())
  }

  #list<T>(open: string, close: string, item: () => T): T[] {
    this.#expect(open)
    const items: T[] = []
    while (this.#peek() !== close) {
      items.push(item())
      if (this.#peek() !== close) this.#expect(',')
    }
    this.#expect(close)
    return items
  }

  #vector(): VectorQuery {
    if (!functions.includes(this.#peek()) || !this.#isCallAhead()) return this.#selector()
    const name = this.#next() as RangeFunction['name']
    this.#expect('(')
    const selector = this.#selector()
    this.#expect('[')
    const windowMs = this.#duration()
    this.#expect(']')
    this.#expect(')')
    return { ...selector, rangeFunction: { name, windowMs } }
  }

  #selector(): VectorQuery {
    const metric = this.#identifier()
    const matchers = this.#peek() === '{' ? this.#list('{', '}', () => this.#matcher()) : []
    return { metric, matchers }
  }

  #matcher(): Matcher {
    const name = this.#identifier()
    const operator = this.#next()
    if (operator !== '=' && operator !== '!=') throw this.#unexpected(1)
    const text = this.#next()
    if (!text.startsWith('"') || text.includes('\\')) throw this.#unexpected(1)
    return { name, value: text.slice(1, -1), isEqual: operator === '=' }
  }

  /** `1m30s` comes as two tokens. */
  #duration(): number {
    let total = 0
    while (this.#peek() !== ']') {
      const part = /^(\d+)(ms|[smhdwy])$/.exec(this.#next())
      if (part === null) throw this.#unexpected(1)
      total += Number(part[1]) * durations.get(part[2]!)!
    }
    if (total === 0) throw this.#unexpected()
    return total
  }

  #identifier(): string {
    const token = this.#next()
    if (!identifier.test(token)) throw this.#unexpected(1)
    return token
  }

  #isCallAhead(): boolean {
    const next = this.#tokens[this.#at + 1]
    return next === '(' || next === 'by'
  }

  #peek = (): string => this.#tokens[this.#at] ?? ''

  #next = (): string => this.#tokens[this.#at++] ?? ''

  #expect(token: string): void {
    if (this.#next() !== token) throw this.#unexpected(1)
  }

  #unexpected(back = 0): Refusal {
    const token = this.#tokens[this.#at - back] ?? 'end of input'
    return new Refusal(
      `unexpected ${token}: the demo database speaks selectors, rate, increase and one aggregation`,
    )
  }
}
