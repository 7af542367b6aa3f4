/** The bytes of a matrix response around its points, and the differences between databases with Prometheus' API. */
import type { HeaderList } from '../backend.ts'

/** The differences of a database's answers from those of Prometheus. */
export interface Wire {
  /** Members of an answer that belong to one execution: they are left out. */
  readonly executionMembers: readonly string[]
  /** Whether a cluster writes `isPartial` before `data`. */
  readonly hasPartialFlag: boolean
  /** Whether an instant has as many decimals as needed, and not always three. */
  readonly hasShortInstants: boolean
  /** Which answers have a line feed behind the last brace, which panes keep in their frame; none by default. */
  readonly lineFeed?: 'always' | 'by version'
  /** Whether response headers report that the answer is incomplete; by default they report nothing. */
  readonly isPartial?: (headers: HeaderList) => boolean
  /** Turns a rank by the order in which labels are printed into one by the order of the series, or cannot. */
  readonly rankOf?: (rank: Buffer) => Buffer | undefined
}

export const plainWire: Wire = { executionMembers: [], hasPartialFlag: false, hasShortInstants: false }

export const lineFeed = 0x0a

/** The text before the first series, with the flag of a cluster; panes keep the flag in their frame. */
export const envelopeWith = (flag: string): Buffer =>
  Buffer.from(`{"status":"success"${flag},"data":{"resultType":"matrix","result":[`)
export const envelopes = ['', ',"isPartial":false', ',"isPartial":true'].map((flag) => ({
  frame: Buffer.from(flag),
  text: envelopeWith(flag),
  isPartial: flag.endsWith('true'),
}))
export const plainEnvelope = envelopes[0]!
export const envelope = plainEnvelope.text
export const seriesOpening = Buffer.from('{"metric":{')
/** The text that opens the list of each lane behind a series' labels. */
export const openings = [Buffer.from(',"values":['), Buffer.from(',"histograms":[')] as const
