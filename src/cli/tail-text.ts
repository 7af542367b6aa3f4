/** One decision as one line: time, outcome, the window as a bar, duration, shape. */
import type { CommandIo } from './command.ts'
import { shapeText } from './shape-text.ts'
import { oneLine, outcomeColours, painter, shorten } from './text.ts'

/** The shown members of a row of /-/requests. */
export interface TailRequest {
  readonly at: string
  readonly backend: string
  readonly outcome: string
  readonly reason?: string
  readonly unstored?: string
  readonly shape: string
  readonly window?: { readonly from: string; readonly to: string; readonly buckets: number }
  readonly runs?: readonly { readonly source: string; readonly from: string; readonly to: string }[]
  readonly asked?: number
  readonly ms: { readonly total: number }
}

type TextStyle = Pick<CommandIo, 'terminal' | 'hasUtf8'>

const barWidth = 20
const signs = {
  drawn: { cache: '█', origin: '▒', missing: '·' },
  ascii: { cache: '#', origin: '+', missing: '.' },
} as const

export function tailLine(request: TailRequest, style: TextStyle): string {
  const { at, backend, outcome, reason, shape, window, asked = 0, ms } = request
  const paint = painter(style)
  const what = oneLine(reason === undefined ? outcome : `${outcome}/${reason}`)
  const buckets =
    window === undefined ? '' : `${window.buckets - Math.min(asked, window.buckets)}/${window.buckets}`
  const head = [
    at.slice(11, 23),
    oneLine(backend),
    paint(what.padEnd(16), outcomeColours[outcome] ?? 'grey'),
    barOf(request, style),
    buckets.padStart(11),
    `${ms.total.toFixed(1)} ms`.padStart(10),
  ].join(' ')
  const width = style.terminal?.columns()
  const painted = head.length - plainLength(head)
  const note = request.unstored === undefined ? '' : `(unstored: ${oneLine(request.unstored)}) `
  const text = `${head} ${note}${shapeText(shape)}`
  return width === undefined ? text : shorten(text, Math.max(width + painted, head.length))
}

const plainLength = (text: string): number =>
  text.replaceAll(new RegExp(`${'\u001b'}\\[\\d+m`, 'g'), '').length

/** The window from left to right; whatever was fetched, however little, is at least one cell. */
function barOf({ window, runs = [] }: TailRequest, { hasUtf8, terminal }: TextStyle): string {
  if (window === undefined || runs.length === 0) return ' '.repeat(barWidth)
  const sign = hasUtf8 && terminal !== undefined ? signs.drawn : signs.ascii
  const [from, to] = [Date.parse(window.from), Date.parse(window.to)]
  const cell = (text: string): number => ((Date.parse(text) - from) / (to - from)) * barWidth
  const cells = new Array<string>(barWidth).fill(sign.cache)
  for (const run of runs) {
    if (run.source !== 'origin' && run.source !== 'missing') continue
    const first = Math.min(barWidth - 1, Math.max(0, Math.floor(cell(run.from))))
    cells.fill(sign[run.source], first, Math.max(first + 1, Math.ceil(cell(run.to))))
  }
  return cells.join('')
}
