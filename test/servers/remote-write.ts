/**
 * A client for Prometheus remote write 1.0: floats, staleness markers and native histograms.
 *
 * A trap of the receiving side: of one request all floats are stored before all histograms. A series that has both may
 * have only one kind per request, or the later floats make the earlier histograms out of order.
 */
import { request } from 'undici'
import { ProtobufWriter } from './protobuf.ts'
import { snappyBlock } from './snappy.ts'

/** The one NaN that means "the series ends here". */
const STALE_BITS = 0x7ff0000000000002n

/** Ends a series of floats or of histograms; which, Prometheus takes from the kind of the marker. */
export const STALE = Symbol('stale')
export const STALE_HISTOGRAM = Symbol('stale histogram')

interface BucketSpan {
  /** Buckets skipped since the end of the span before; for the first span the index of its first bucket. */
  readonly offset: number
  readonly length: number
}

/** The fields of a native histogram that do not depend on how buckets are counted. */
interface HistogramShape {
  readonly sum: number
  /** -4 to 8 for exponential buckets; -53 for custom ones, whose upper bounds are `customValues`. */
  readonly schema: number
  readonly zeroThreshold?: number
  readonly positiveSpans?: readonly BucketSpan[]
  readonly negativeSpans?: readonly BucketSpan[]
  readonly customValues?: readonly number[]
  readonly isGauge?: boolean
}

/** Counts are integers; buckets are given as the difference to the bucket before. */
export interface IntegerHistogram extends HistogramShape {
  readonly count: number
  readonly zeroCount: number
  readonly positiveDeltas?: readonly number[]
  readonly negativeDeltas?: readonly number[]
}

/** Counts may be fractions; buckets are given as they are. */
export interface FloatHistogram extends HistogramShape {
  readonly floatCount: number
  readonly floatZeroCount: number
  readonly positiveCounts?: readonly number[]
  readonly negativeCounts?: readonly number[]
}

export type NativeHistogram = IntegerHistogram | FloatHistogram

export type SampleValue = number | typeof STALE | typeof STALE_HISTOGRAM | NativeHistogram

export interface Sample {
  /** Milliseconds since 1970. */
  readonly t: number | bigint
  readonly value: SampleValue
}

export interface TimeSeries {
  /** With `__name__`; any order. */
  readonly labels: Readonly<Record<string, string>>
  /** In order of time. */
  readonly samples: readonly Sample[]
}

/** The endpoint for samples, and its headers; Prometheus' own by default. */
export interface WriteEndpoint {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** @throws when the server refuses any of it; its reason is in the message. */
export async function remoteWrite(
  baseUrl: string,
  series: readonly TimeSeries[],
  { path = '/api/v1/write', headers = {} }: WriteEndpoint = {},
): Promise<void> {
  const response = await request(`${baseUrl}${path}`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      'x-prometheus-remote-write-version': '0.1.0',
    },
    body: snappyBlock(encodeWriteRequest(series)),
  })
  const text = await response.body.text()
  if (response.statusCode >= 300) throw new Error(`remote write: ${response.statusCode} ${text.trim()}`)
}

function encodeWriteRequest(series: readonly TimeSeries[]): Buffer {
  const writer = new ProtobufWriter()
  for (const one of series) writer.message(1, (inner) => writeSeries(inner, one))
  return writer.finish()
}

function writeSeries(writer: ProtobufWriter, series: TimeSeries): void {
  for (const [name, value] of sortedLabels(series.labels)) {
    writer.message(1, (label) => label.string(1, name).string(2, value))
  }
  for (const { t, value } of series.samples) {
    if (typeof value === 'number') writer.message(2, (sample) => sample.double(1, value).varint(2, t))
    else if (value === STALE) writer.message(2, (sample) => sample.doubleBits(1, STALE_BITS).varint(2, t))
    else writer.message(4, (histogram) => writeHistogram(histogram, t, value))
  }
}

/** Returns the labels in the order the protocol wants: by the bytes of their names. */
export function sortedLabels(labels: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(labels).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

function writeHistogram(
  writer: ProtobufWriter,
  t: number | bigint,
  histogram: NativeHistogram | typeof STALE_HISTOGRAM,
): void {
  if (histogram === STALE_HISTOGRAM) {
    writer.varint(1, 0).doubleBits(3, STALE_BITS)
  } else {
    writeCounts(writer, histogram)
    writeShape(writer, histogram)
  }
  writer.varint(15, t)
}

function writeCounts(writer: ProtobufWriter, histogram: NativeHistogram): void {
  if ('floatCount' in histogram) {
    writer.double(2, histogram.floatCount).double(7, histogram.floatZeroCount)
    writer.packedDoubles(10, histogram.negativeCounts ?? [])
    writer.packedDoubles(13, histogram.positiveCounts ?? [])
  } else {
    writer.varint(1, histogram.count).varint(6, histogram.zeroCount)
    writer.packedZigzags(9, histogram.negativeDeltas ?? [])
    writer.packedZigzags(12, histogram.positiveDeltas ?? [])
  }
}

const RESET_HINT_GAUGE = 3

function writeShape(writer: ProtobufWriter, histogram: HistogramShape): void {
  writer.double(3, histogram.sum).zigzag(4, histogram.schema)
  writer.double(5, histogram.zeroThreshold ?? 0)
  writeSpans(writer, 8, histogram.negativeSpans ?? [])
  writeSpans(writer, 11, histogram.positiveSpans ?? [])
  if (histogram.isGauge) writer.varint(14, RESET_HINT_GAUGE)
  if (histogram.customValues) writer.packedDoubles(16, histogram.customValues)
}

function writeSpans(writer: ProtobufWriter, field: number, spans: readonly BucketSpan[]): void {
  for (const { offset, length } of spans) {
    writer.message(field, (span) => span.zigzag(1, offset).varint(2, length))
  }
}
