/** Which trace a request belongs to, as W3C Trace Context writes it into `traceparent`. */
import type { Clock } from './clock.ts'

export interface TraceParent {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const sampledBit = 1

/** Undefined where it is none: a trace then begins here. Later versions may be longer, and begin as this one does. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, version, traceId, spanId, flags, more] = pattern.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined
  if (version === '00' && more !== undefined) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags!, 16) & sampledBit) !== 0 }
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-0${isSampled ? sampledBit : 0}`

export const newTraceId = (clock: Clock): string => newSpanId(clock) + newSpanId(clock)

/** Never all zero, which would be no id. */
export const newSpanId = (clock: Clock): string => digits(clock, 0) + digits(clock, 1)

/** Eight digits for a number that is at least `least`. */
const digits = (clock: Clock, least: number): string =>
  (least + Math.floor(clock.random() * (2 ** 32 - least))).toString(16).padStart(8, '0')
