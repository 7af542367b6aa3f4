/**
 * Byte equality is a fair demand on the proxy only because Prometheus itself keeps it: the same question gives the
 * same bytes, and a part of the range gives the same points as the whole. With one exception: warnings and infos are
 * kept in a Go map and come in random order (and of more than ten, a random ten come).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { type Matrix, type RangeQuery, rangeMatrix, rangeText } from '../servers/query.ts'
import { catalogue, HOUR, MINUTE, START } from './dataset.ts'
import { startFixture } from './fixture.ts'

const outcome = await startFixture()
const skip = skipReason(outcome)
const url = isUnavailable(outcome) ? '' : outcome.url
test.after(() => (isUnavailable(outcome) ? undefined : outcome.stop()))

const selectors = catalogue.map(({ name }) => `{__name__=${JSON.stringify(name)}}`)

const expressions = [
  'sum(rate(http_requests_total[5m])) by (job)',
  'sum by (mode) (irate(node_cpu_seconds_total[2m]))',
  'avg(node_cpu_seconds_total)',
  'stddev(memory_bytes)',
  'increase(node_cpu_seconds_total[1h])',
  'histogram_quantile(0.9, sum by (le) (rate(http_request_duration_seconds_bucket[10m])))',
  'histogram_quantile(0.5, sum(rate(rpc_duration_seconds[10m])))',
  'sum(rpc_duration_seconds)',
  'rate(rpc_duration_seconds[7m])',
  'increase(custom_bucket_seconds[10m])',
  'avg_over_time(balance_distribution[5m])',
  'rate(flapping_histogram[5m])',
  'histogram_fraction(0, 0.1, rate(float_and_histogram[10m]))',
  'sum(float_and_histogram)',
  'sum(special_values{kind!~"nan|inf|neginf|cycle|slow"})',
  'quantile_over_time(0.7, temperature_celsius[30m])',
  'predict_linear(memory_bytes[1h], 600)',
  'stdvar_over_time(temperature_celsius[1h])',
  'max_over_time(sum(pod_cpu_usage_seconds_total)[20m:1m])',
  'rate(http_requests_total[5m] offset 1h)',
  'http_requests_total - http_requests_total offset 10m',
  'sum by (version) (up * on (instance) group_left (version) build_info)',
  'topk(3, http_requests_total)',
  'count_values("depth", queue_depth)',
  'absent(only_middle)',
  'changes(up[30m]) > 0',
  'deriv(ramp_seconds[5m])',
]

function points(series: readonly Matrix[]): Map<string, string> {
  const all = new Map<string, string>()
  for (const { metric, values = [], histograms = [] } of series) {
    for (const [t, value] of [...values, ...histograms]) {
      all.set(`${JSON.stringify(metric)} ${t}`, JSON.stringify(value))
    }
  }
  return all
}

/** Cuts where nothing else has a boundary. */
function partsOf(range: RangeQuery): RangeQuery[] {
  const steps = Math.floor((range.end - range.start) / range.stepMs)
  const starts = [0, 1, Math.floor(steps / 7), Math.floor(steps / 2) + 3, steps]
  return starts.map((first, index) => ({
    ...range,
    start: range.start + first * range.stepMs,
    end: range.start + ((starts[index + 1] ?? steps + 1) - 1) * range.stepMs,
  }))
}

const ranges = [
  { start: START + 30 * MINUTE, end: START + 23 * HOUR, stepMs: 5 * MINUTE },
  { start: START + 11 * HOUR + 7_001, end: START + 13 * HOUR, stepMs: 37_000 },
]

for (const query of [...selectors, ...expressions]) {
  test(`twice and in parts: ${query}`, { skip }, async () => {
    for (const range of ranges.map((one) => ({ ...one, query }))) {
      assert.deepEqual(byteParts(await rangeText(url, range)), byteParts(await rangeText(url, range)))
      const whole = points(await rangeMatrix(url, range))
      const parts = new Map<string, string>()
      for (const part of partsOf(range)) {
        for (const [key, value] of points(await rangeMatrix(url, part))) parts.set(key, value)
      }
      assertSamePoints(parts, whole)
    }
  })
}

interface Annotations {
  readonly warnings?: string[]
  readonly infos?: string[]
}

/** Returns the bytes of the data, and the annotations without their order. Quotes in labels are escaped: no false hit. */
function byteParts(text: string): unknown[] {
  const { warnings, infos } = JSON.parse(text) as Annotations
  const end = text.search(/,"(warnings|infos)":\[/)
  return [end < 0 ? text : text.slice(0, end), warnings?.sort(), infos?.sort()]
}

function assertSamePoints(parts: ReadonlyMap<string, string>, whole: ReadonlyMap<string, string>): void {
  assert.equal(parts.size, whole.size)
  for (const [key, value] of whole) assert.equal(parts.get(key), value, key)
}
