/**
 * Decides whether the value of a PromQL expression at one step is local to that step, so that answers may be cut and
 * joined by time. The tree is used for presence only: the grammar lets `a + b offset 5m` wrap the whole sum. Functions
 * that are not on a database's lists, and syntax that is newer than this file, are refused.
 */
import type { SyntaxNode, SyntaxNodeRef } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import type { EpochMs } from '../../core/clock.ts'
import { Memo } from '../../core/memo.ts'
import { isWritingNewLabel } from './labels.ts'
import { unquote, unreadable, words } from './names.ts'
import { maxTextLength, unfitText } from './query-text.ts'
import { isLoose, Reach, type Reached } from './reach.ts'
import type { PromqlBypass } from './reasons.ts'

export interface Examined {
  /** Metric names that the query reads, where they are written out; sorted. */
  readonly metrics: readonly string[]
  /** Every selector has its name written out. */
  readonly namesAll: boolean
  /** How far before and after a step the data lies that its selectors read. */
  readonly reach: Reached
  /** The times of literal @ modifiers: the answer is stable only if the data there is. */
  readonly atTimes: readonly EpochMs[]
  /** A function in the query may give two series the same labels; older servers check its result over the whole range. */
  readonly mayMergeSeries: boolean
  /** The outermost function sorts: that has no effect over a range, but servers may warn of it, unless the range is one step. */
  readonly isSorted: boolean
}

export type Examine = (text: string) => Examined | PromqlBypass

/** From about 2500 levels on the parser leaves nodes out of its tree. */
const maxDepth = 1000

/** The functions and aggregations that a database computes from one step alone. Anything in no list is refused. */
export interface Dialect {
  readonly functions: ReadonlySet<string>
  readonly aggregations: ReadonlySet<string>
  /** Their first argument is a parameter, and only a literal one is accepted. */
  readonly parametricAggregations: ReadonlySet<string>
  /** Accepts offsets that look at data newer than their step. */
  readonly negativeOffsets?: boolean
  /** Range answers are ordered by labels, also where the outermost function sorts. */
  readonly ordersByLabels?: boolean
  /** Why a piece of syntax makes a value depend on the whole range, where it does in this database. */
  refuses?(node: SyntaxNodeRef, text: string): string | undefined
}

const rangeDependentFunctions = words('start end range step')
const sortingFunctions = words('sort sort_desc sort_by_label sort_by_label_desc')
/** They can write any label, the metric name too. */
const labelRewriters = words('label_join label_replace')
const labelWriters = words('label_join label_replace histogram_quantiles count_values')
const harmlessNodes = words(`
  PromQL LineComment AggregateExpr AggregateModifier By Without LabelName QuotedLabelName StringLiteral BinaryExpr Pow
  Mul Div Mod Add Sub Eql Gte Gtr TrimUpper TrimLower Lte Lss Neq Atan2 And Unless BoolModifier Bool
  MatchingModifierClause Ignoring On GroupLeft GroupRight FunctionCall Offset ParenExpr UnaryOp`)

/**
 * Their results lose the metric name, and equal label sets are then an error over the whole range (for unary minus in
 * older versions only). That cannot be seen in a part of the range, so all series within must have one name.
 */
const nameDroppers = words('MatrixSelector SubqueryExpr UnaryExpr')

export const strictParser = parser.configure({ strict: true })

/** Returns an `examine` that remembers, because dashboards repeat their texts. */
export function createExaminer(
  dialect: Dialect,
  { maxTexts = 10_000, maxCharacters = 8 << 20 } = {},
): Examine {
  const examine = (text: string) => examineAs(dialect, text)
  const memo = new Memo<Examined | PromqlBypass>({ maxTexts, maxCharacters }, examine)
  return (text) => (text.length > maxTextLength ? examine(text) : memo.get(text))
}

export function examineAs(dialect: Dialect, text: string): Examined | PromqlBypass {
  const unfit = unfitText(text)
  if (unfit !== undefined) return refuse('unparseable_query', unfit)
  const examination = new Examination(dialect, text)
  try {
    strictParser.parse(text).cursor().iterate(examination.enter, examination.leave)
  } catch (error) {
    return refuse('unparseable_query', String(error))
  }
  return examination.result()
}

/** A refused node, or `false` where its children need no look. */
type Verdict = PromqlBypass | false | undefined

class Examination {
  readonly #dialect: Dialect
  readonly #text: string
  readonly #metrics = new Set<string>()
  #namesAll = true
  readonly #reach = new Reach()
  readonly #atTimes: EpochMs[] = []
  #rewritesLabels = false
  #mayMergeSeries = false
  #isSorted = false
  #hasLooseModifier = false
  #refusal: PromqlBypass | undefined
  #depth = 0
  #nameDroppers = 0
  #expectsParameter = false
  #expectsAtTime = false

  constructor(dialect: Dialect, text: string) {
    this.#dialect = dialect
    this.#text = text
  }

  readonly enter = (node: SyntaxNodeRef): boolean => {
    if (this.#refusal !== undefined) return false
    const verdict = this.#depth < maxDepth ? this.#judge(node) : refuse('unparseable_query', 'too deep')
    if (verdict === undefined) this.#depth++
    else if (verdict !== false) this.#refusal = verdict
    return verdict === undefined
  }

  readonly leave = (node: SyntaxNodeRef): void => {
    this.#depth--
    this.#reach.leave(node.name)
    if (nameDroppers.has(node.name)) this.#nameDroppers--
  }

  result(): Examined | PromqlBypass {
    const reach = this.#reach.reached
    if (reach.aheadMs === Number.POSITIVE_INFINITY)
      this.#refusal ??= refuse('unsafe_offset', 'a negative offset whose length is not read here')
    return (
      this.#refusal ?? {
        metrics: [...this.#metrics].sort(),
        namesAll: this.#namesAll,
        reach,
        atTimes: this.#atTimes,
        // Where a modifier wraps more than it belongs to, the tree is not to be trusted with the rest.
        mayMergeSeries: this.#mayMergeSeries || (this.#rewritesLabels && this.#hasLooseModifier),
        isSorted: this.#isSorted,
      }
    )
  }

  #judge(node: SyntaxNodeRef): Verdict {
    this.#reach.enter(node, this.#text)
    const refusal = this.#dialect.refuses?.(node, this.#text)
    if (refusal !== undefined) return refuse('depends_on_range', refusal)
    if (nameDroppers.has(node.name)) {
      this.#nameDroppers++
      return undefined
    }
    switch (node.name) {
      case 'VectorSelector':
        return this.#selector(node.node)
      case 'FunctionIdentifier':
        return this.#function(node.node)
      case 'AggregateOp':
        return this.#aggregation(this.#read(node).toLowerCase())
      case 'FunctionCallBody':
        return this.#arguments(node.node)
      case 'GroupingLabels':
        return this.#grouping(node.node)
      case 'Or':
      case 'FillModifier':
        return this.#refuseIfNamesMustAgree(this.#read(node))
      case 'At':
        this.#expectsAtTime = true
        return undefined
      case 'NumberDurationLiteral':
        return this.#number(this.#read(node))
      case 'AtModifierPreprocessors':
        return refuse('depends_on_range', '@ start() or @ end()')
      case 'OffsetExpr':
      case 'StepInvariantExpr':
        this.#hasLooseModifier ||= isLoose(node.node)
        return undefined
      case 'OffsetDurationExpr':
        return this.#isOffset(node.node) ? false : refuse('unsafe_offset', this.#read(node))
      case 'DurationExpr':
        return this.#isLiteral(node.node) ? false : refuse('depends_on_range', `[${this.#read(node)}]`)
      default:
        return harmlessNodes.has(node.name) ? undefined : refuse('unsafe_function', `syntax: ${node.name}`)
    }
  }

  #read(node: { from: number; to: number }): string {
    return this.#text.slice(node.from, node.to)
  }

  #selector(node: SyntaxNode): Verdict {
    const plain = node.getChild('Identifier')
    const name = plain === null ? this.#nameByMatcher(node.getChild('LabelMatchers')) : this.#read(plain)
    if (name === undefined || name === unreadable) this.#namesAll = false
    if (name === undefined) return this.#refuseIfNamesMustAgree(this.#read(node))
    if (name !== unreadable) this.#metrics.add(name)
    return false
  }

  #nameByMatcher(matchers: SyntaxNode | null): string | undefined {
    for (let node = matchers?.firstChild ?? null; node !== null; node = node.nextSibling) {
      if (node.name === 'QuotedLabelName') return unquote(this.#read(node))
      const operator = node.getChild('MatchOp')
      if (operator === null || this.#read(operator) !== '=') continue
      if (unquote(this.#read(node.firstChild!)) === '__name__')
        return unquote(this.#read(node.getChild('StringLiteral')!))
    }
    return undefined
  }

  #function(identifier: SyntaxNode): Verdict {
    const name = this.#read(identifier)
    if (rangeDependentFunctions.has(name)) return refuse('depends_on_range', `${name}()`)
    if (sortingFunctions.has(name)) return this.#sorting(identifier)
    if (!this.#dialect.functions.has(name)) return refuse('unsafe_function', `${name}()`)
    if (labelRewriters.has(name)) {
      this.#rewritesLabels = true
      this.#mayMergeSeries ||= !isWritingNewLabel(identifier.parent!, this.#text)
    }
    return labelWriters.has(name) && this.#refuseIfNamesMustAgree(name)
  }

  /** Within other expressions the order of series can change sums and ties. */
  #sorting(identifier: SyntaxNode): Verdict {
    this.#isSorted = this.#dialect.ordersByLabels === true && isOutermost(identifier.parent!)
    return this.#isSorted ? false : refuse('sorting', `${this.#read(identifier)}()`)
  }

  #aggregation(name: string): Verdict {
    const { aggregations, parametricAggregations } = this.#dialect
    this.#expectsParameter = parametricAggregations.has(name)
    if (!this.#expectsParameter && !aggregations.has(name)) return refuse('unsafe_function', name)
    return labelWriters.has(name) && this.#refuseIfNamesMustAgree(name)
  }

  /** Databases check a computed parameter over the whole range, and some take its first value for all steps. */
  #arguments(body: SyntaxNode): Verdict {
    const parameter = this.#expectsParameter ? body.firstChild : null
    this.#expectsParameter = false
    if (parameter === null || /^(NumberDuration|String)Literal$/.test(parameter.name)) return undefined
    return refuse('depends_on_range', `a computed parameter: ${this.#read(parameter)}`)
  }

  #grouping(labels: SyntaxNode): Verdict {
    for (let node = labels.firstChild; node !== null; node = node.nextSibling) {
      if (mayBeName(unquote(this.#read(node)))) return this.#refuseIfNamesMustAgree('grouping by __name__')
    }
    return false
  }

  #refuseIfNamesMustAgree(what: string): PromqlBypass | false {
    return this.#nameDroppers > 0 && refuse('unnamed_range_selector', what)
  }

  #number(text: string): Verdict {
    if (!this.#expectsAtTime) return false
    this.#expectsAtTime = false
    if (!/^\d+(\.\d+)?$/.test(text)) return refuse('recent_at_modifier', `@ ${text}`)
    this.#atTimes.push(Math.round(Number(text) * 1000))
    return false
  }

  /** A literal, where the database permits it also with a sign. */
  #isOffset(node: SyntaxNode): boolean {
    const isSigned = this.#dialect.negativeOffsets === true && node.firstChild?.name === 'UnaryOp'
    return this.#isLiteral(isSigned ? node.lastChild! : node)
  }

  /** True for `5m` or `300`; false for signs, parentheses, arithmetic, functions, inf and nan. */
  #isLiteral(node: SyntaxNode): boolean {
    const child = node.firstChild
    if (child?.name !== 'NumberDurationLiteralInDurationContext') return false
    return child.from === node.from && child.to === node.to && /^[\d.]/.test(this.#read(child))
  }
}

const refuse = (bypass: PromqlBypass['bypass'], detail: string): PromqlBypass => ({ bypass, detail })
const mayBeName = (label: string): boolean => label === '__name__' || label === unreadable

function isOutermost(call: SyntaxNode): boolean {
  let around = call.parent
  while (around?.name === 'ParenExpr') around = around.parent
  return around?.name === 'PromQL'
}
