/**
 * The order of the series of an answer. VictoriaMetrics compares labels in the order in which a series has them: by name
 * behind an aggregation, in the order of its index otherwise, where some usual labels come first. It prints them by name.
 */
import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { words } from '../matrix/names.ts'

/** `single`: there is one series at most. */
export type LabelOrder = 'names' | 'index' | 'single'

/** Undefined where it is not known. */
export const orderOf = (text: string): LabelOrder | undefined =>
  ofNode(text, parser.parse(text).topNode.firstChild)

/** The grammar lets ranges and modifiers wrap more than they belong to (`a + b[5m]`): that makes no difference here. */
const wrappers = words('ParenExpr MatrixSelector OffsetExpr StepInvariantExpr SubqueryExpr')

function ofNode(text: string, node: SyntaxNode | undefined | null): LabelOrder | undefined {
  if (!node) return 'single'
  const { name, firstChild, lastChild } = node
  if (name === 'AggregateExpr') return 'names'
  if (name === 'VectorSelector') return 'index'
  if (name === 'NumberDurationLiteral') return 'single'
  if (name === 'UnaryExpr') return ofNode(text, lastChild)
  if (name === 'BinaryExpr') return ofBoth(ofNode(text, firstChild), ofNode(text, lastChild))
  if (wrappers.has(name)) return ofNode(text, firstChild)
  if (name !== 'FunctionCall') return undefined
  const isAbsent = /^absent/.test(text.slice(node.from, node.to))
  return isAbsent ? 'single' : ofNode(text, argumentsOf(text, node).vector)
}

/** Where one side is a single series, the labels are those of the other. */
function ofBoth(left: LabelOrder | undefined, right: LabelOrder | undefined): LabelOrder | undefined {
  if (left === 'single') return right
  return right === 'single' || left === right ? left : undefined
}

/** The argument that the labels of a function's result come from, and the others. */
export function argumentsOf(text: string, call: SyntaxNode) {
  const parameters = call.getChild('FunctionCallBody')?.getChildren('Expr') ?? []
  const [vector] = parameters.splice(text.startsWith('quantile_over_time', call.from) ? 1 : 0, 1)
  return { vector, parameters }
}

/** In the order in which they stand before all others, with an upper-case first letter too. */
const first =
  'namespace ns datacenter dc environment env cluster service job model type sensor_type|SensorType db instance host ' +
  'server pod node device tenant client name measurement'
const places = new Map<string, number>([['__name__', -1]])
for (const [place, names] of first.split(' ').entries()) {
  for (const name of names.split('|')) {
    places.set(name, place).set(`${name[0]!.toUpperCase()}${name.slice(1)}`, place)
  }
}

/** A rank by names as one by the order of the index; undefined where two labels have one place. */
export function indexRank(rank: Buffer): Buffer | undefined {
  const labels: { readonly place: number; readonly from: number; readonly to: number }[] = []
  for (let from = 0; from < rank.length; ) {
    const nameEnd = rank.indexOf(0, from)
    const to = rank.indexOf(0, nameEnd + 1) + 1
    labels.push({ place: places.get(rank.toString('latin1', from, nameEnd)) ?? first.length, from, to })
    from = to
  }
  const ordered = labels.toSorted((a, b) => a.place - b.place)
  const isAmbiguous = ordered.some(({ place }, i) => place < first.length && place === ordered[i + 1]?.place)
  return isAmbiguous ? undefined : Buffer.concat(ordered.map(({ from, to }) => rank.subarray(from, to)))
}
