/** The `intervals` of a native query, in every form that Druid accepts, as condensed spans of instants. */
import { nothing, uniteAll } from '../../core/interval.ts'
import type { Span } from './druid-plan.ts'
import { parseInterval } from './interval-text.ts'
import type { JsonNode } from './json.ts'
import { isAbsent, textOf } from './lenient.ts'
import { type Bypass, invalid, notDecomposable } from './reasons.ts'

export function readIntervals(node: JsonNode): readonly Span[] | Bypass {
  const texts = textsOf(node)
  if ('bypass' in texts) return texts
  const spans: Span[] = []
  for (const text of texts) {
    const span = text === undefined ? undefined : parseInterval(text)
    if (span === undefined) return invalid('intervals: one that is not written as we read them')
    if (span.from >= span.to) return invalid('intervals: one that is empty or ends before it begins')
    spans.push(span)
  }
  return spans.length === 0 ? invalid('intervals: none') : condense(spans)
}

type Texts = readonly (string | undefined)[]

function textsOf(node: JsonNode): Texts | Bypass {
  if (node.kind === 'text') return node.value.split(',')
  if (node.kind === 'array') return node.items.map(textOf)
  if (node.kind !== 'object') return invalid('intervals: neither text nor list')
  const type = node.members.get('type')
  if (textOf(type) === 'segments') return notDecomposable('a query for named segments')
  const list = node.members.get('intervals')
  const isKnown = isAbsent(type) || ['intervals', 'LegacySegmentSpec'].includes(textOf(type) ?? '')
  if (!isKnown || list?.kind !== 'array') return invalid('intervals: an object of another form')
  return list.items.map(textOf)
}

/** In time order, overlapping and abutting ones made one. */
export const condense = (spans: readonly Span[]): readonly Span[] => uniteAll(spans, nothing)

/** As a list in JSON. */
export const printIntervals = (spans: readonly Span[]): string =>
  `[${spans.map(({ from, to }) => `"${iso(from)}/${iso(to)}"`).join(',')}]`

const iso = (at: number): string => new Date(at).toISOString()
