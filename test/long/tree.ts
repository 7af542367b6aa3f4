/**
 * The result of Prometheus' own parser for a query (/api/v1/parse_query), and the nodes that no eligible query may
 * have. These are the planner's rules once more, applied to the real tree: the planner reads another grammar.
 */

/** A node of the tree; the names of its fields depend on its type. */
interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

interface Matcher {
  readonly type: string
  readonly name: string
  readonly value: string
}

export interface Findings {
  /** Why the query is not local to its steps. */
  readonly objections: readonly string[]
  /** The times of @ modifiers in milliseconds, sorted. */
  readonly atTimes: readonly number[]
  /** Metric names that selectors are bound to, sorted. */
  readonly names: readonly string[]
  /** How far after a step the data lies that any selector reads there, in milliseconds. */
  readonly aheadMs: number
}

const forbiddenCalls = /^(start|end|range|step|info)$/
const sortingCalls = /^sort(_desc|_by_label|_by_label_desc)?$/
const labelWriters = /^(label_replace|label_join|histogram_quantiles)$/
const literal = /^(number|string)Literal$/

export function examineTree(tree: unknown): Findings {
  const examination = new Examination()
  examination.visit(withoutSort(tree as Node), { agree: false, shiftMs: 0 })
  return {
    objections: [...examination.objections],
    atTimes: [...examination.atTimes].sort((a, b) => a - b),
    names: [...examination.names].sort(),
    aheadMs: examination.aheadMs,
  }
}

/** The argument of an outermost sort function: the order of a range answer is the same without the function. */
function withoutSort(tree: Node): Node {
  let node = tree
  while (node.type === 'parenExpr') node = node['expr'] as Node
  const isSorted = node.type === 'call' && sortingCalls.test(nameOfOperation(node))
  return isSorted ? (node['args'] as Node[])[0]! : tree
}

interface Surroundings {
  /** The result loses its metric name further up, so that all series must have the same one. */
  readonly agree: boolean
  /** How much later than the step its expressions are evaluated, at most. */
  readonly shiftMs: number
}

class Examination {
  readonly objections = new Set<string>()
  readonly atTimes = new Set<number>()
  readonly names = new Set<string>()
  aheadMs = 0

  visit(node: Node, { agree, shiftMs: around }: Surroundings): void {
    const shiftMs = around - Number(node['offset'] ?? 0)
    this.#modifiers(node)
    this.#operation(node, agree)
    if (node.type === 'matrixSelector') this.#selector(node, true)
    if (node.type === 'vectorSelector') this.#selector(node, agree)
    if (node.type.endsWith('Selector')) this.aheadMs = Math.max(this.aheadMs, shiftMs)
    const inner = agree || node.type === 'subquery' || (node.type === 'unaryExpr' && node['op'] === '-')
    for (const child of childrenOf(node)) this.visit(child, { agree: inner, shiftMs })
  }

  #modifiers(node: Node): void {
    for (const field of ['offsetExpr', 'rangeExpr', 'stepExpr', 'startOrEnd', 'anchored', 'smoothed']) {
      this.#objectIf(Boolean(node[field]), field)
    }
    if (typeof node['timestamp'] === 'number') this.atTimes.add(node['timestamp'])
  }

  #operation(node: Node, agree: boolean): void {
    const name = nameOfOperation(node)
    if (node.type === 'call') {
      this.#objectIf(forbiddenCalls.test(name) || sortingCalls.test(name), `${name}()`)
      this.#objectIf(agree && labelWriters.test(name), `${name}() where names must agree`)
    }
    if (node.type === 'binaryExpr') {
      this.#objectIf(agree && name === 'or', 'or where names must agree')
      this.#objectIf(agree && isFilled(node), 'fill where names must agree')
    }
    if (node.type === 'aggregation') this.#aggregation(node, name, agree)
  }

  #aggregation(node: Node, name: string, agree: boolean): void {
    const parameter = node['param'] as Node | null
    this.#objectIf(parameter !== null && !literal.test(parameter.type), `a computed parameter of ${name}`)
    const grouped = node['without'] !== true && (node['grouping'] as readonly string[]).includes('__name__')
    this.#objectIf(agree && grouped, 'grouping by __name__ where names must agree')
    this.#objectIf(agree && name === 'count_values', 'count_values where names must agree')
  }

  #selector(node: Node, agree: boolean): void {
    const bound = (node['matchers'] as readonly Matcher[]).filter(
      ({ name, type }) => name === '__name__' && type === '=',
    )
    for (const { value } of bound) this.names.add(value)
    this.#objectIf(agree && bound.length === 0, 'a selector without a name where names must agree')
  }

  #objectIf(condition: boolean, what: string): void {
    if (condition) this.objections.add(what)
  }
}

function nameOfOperation(node: Node): string {
  return node.type === 'call' ? (node['func'] as { name: string }).name : String(node['op'] ?? '')
}

function isFilled(node: Node): boolean {
  const matching = node['matching'] as { fillValues?: Record<string, number | null> } | null
  return Object.values(matching?.fillValues ?? {}).some((value) => value !== null)
}

function childrenOf(node: Node): Node[] {
  const fields = [node['expr'], node['param'], node['lhs'], node['rhs'], ...((node['args'] as Node[]) ?? [])]
  return fields.filter((field) => field !== null && field !== undefined) as Node[]
}
