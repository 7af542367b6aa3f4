/**
 * The functions of PromQL that VictoriaMetrics computes from one step alone; MetricsQL's additions do not parse here.
 *
 * VictoriaMetrics estimates the interval between the samples of a series from the last twenty samples before the end of
 * the request, and takes the estimate for the range of a selector that has none. Functions that look at the sample
 * before their range (rate, increase, delta, changes, resets and others) use it too, and they also check whether any
 * sample follows before the end of the request. So their values at one step change with the request's start and end,
 * and a cut shows: they are not in the list. Functions over an explicit range that look at nothing else are.
 *
 * A series that has a sample anywhere in the request has a value at every step, NaN where it has none. So functions
 * that turn NaN into a number depend on the range, too.
 */
import type { SyntaxNode, SyntaxNodeRef } from '@lezer/common'
import { words } from '../matrix/names.ts'
import * as matrix from '../matrix/promql.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import { argumentsOf, orderOf } from './label-order.ts'

const dialect: matrix.Dialect = {
  // Not in the list either: scalar, which counts the series of the whole range; histogram_quantile, which takes the highest
  // bound of the whole range; sgn, which is 0 for NaN; label_replace and label_join, because two series that they make
  // equal are an error even where they never coexist.
  functions: words(`
    abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil clamp clamp_max clamp_min cos cosh
    count_over_time day_of_month day_of_week day_of_year days_in_month deg exp first_over_time floor hour last_over_time
    ln log10 log2 mad_over_time max_over_time min_over_time minute month pi predict_linear present_over_time
    quantile_over_time rad round sin sinh sqrt stddev_over_time stdvar_over_time sum_over_time tan tanh time vector year`),
  // Not in the lists: stddev and stdvar, which are 0 for a single series of the request and nothing for one infinite value
  // among several; topk and bottomk, which put the answer into an order of their own.
  aggregations: words('avg count group max min sum'),
  parametricAggregations: words('quantile'),
  refuses,
}

function refuses({ name, node }: SyntaxNodeRef, text: string): string | undefined {
  switch (name) {
    case 'VectorSelector':
      return node.parent?.name === 'MatrixSelector'
        ? undefined
        : 'a selector without a range, whose lookback is estimated from all samples of the request'
    case 'Or':
      return 'or: its result is not in label order'
    case 'Neq':
    case 'Pow':
    case 'BoolModifier':
      return isNumber(node.parent!.lastChild!)
        ? undefined
        : 'bool, != and ^ make a number of NaN on their right'
    case 'MatchingModifierClause':
      return 'on, ignoring, group_left, group_right: series that match twice are merged or refused by how much they overlap'
    // It takes any expression where PromQL wants a number.
    case 'FunctionCallBody':
      if (node.parent!.name === 'AggregateExpr')
        return isAbsence(node.node, text)
          ? 'an aggregation of absent_over_time, which then is 1 for each series of the request alone'
          : undefined
      return argumentsOf(text, node.parent!).parameters.every(isNumber)
        ? undefined
        : 'a computed parameter: its series are counted'
    default:
      return undefined
  }
}

const isNumber = ({ name, lastChild }: SyntaxNode): boolean =>
  (name === 'UnaryExpr' ? lastChild?.name : name) === 'NumberDurationLiteral'

/** MetricsQL drops brackets and a plus. */
function isAbsence(node: SyntaxNode | null, text: string): boolean {
  if (node === null) return false
  const { name, from } = node
  const isDropped = /Body|Paren/.test(name) || (name === 'UnaryExpr' && text[from] === '+')
  if (isDropped) return isAbsence(node.getChild('Expr'), text)
  return name === 'FunctionCall' && text.startsWith('absent_over_time', from)
}

export function createExaminer(): matrix.Examine {
  const examine = matrix.createExaminer(dialect)
  return (text) => {
    const examined = examine(text)
    if ('bypass' in examined) return examined
    // Series that are equal without their names are an error over the whole range.
    if (!examined.namesAll)
      return { bypass: 'unnamed_range_selector', detail: 'a selector without a metric name' }
    return orderOf(text) === undefined ? unordered : examined
  }
}

const unordered: PromqlBypass = { bypass: 'unsafe_function', detail: 'the order of its series is not known' }
