import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { request } from 'undici'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { findProgram } from '../servers/debian.ts'
import { rangeMatrix } from '../servers/query.ts'
import { datasetBlocks } from './blocks.ts'
import {
  type CatalogueEntry,
  catalogue,
  END,
  generateSeries,
  HOUR,
  MINUTE,
  SECOND,
  START,
} from './dataset.ts'
import { requireServer, startFixture } from './fixture.ts'
import { ODD_VALUES } from './metrics-odd.ts'

const outcome = await startFixture()
const skip = skipReason(outcome)
const url = isUnavailable(outcome) ? '' : outcome.url
test.after(() => (isUnavailable(outcome) ? undefined : outcome.stop()))

test('the data is the same every time it is made', () => {
  const [first, second] = [generateSeries(), generateSeries()]
  assert.deepEqual(first.slice(0, 60), second.slice(0, 60))
})

test('the data is served from one block', async (t) => {
  const promtool = requireServer(t, await findProgram({ package: 'promtool' }))
  const folder = await datasetBlocks()
  if (!promtool || isUnavailable(folder)) return
  const { stdout } = await promisify(execFile)(promtool.path, ['tsdb', 'list', folder])
  assert.equal(stdout.trim().split('\n').length, 2, `a heading and one block:\n${stdout}`)
})

/** Returns the label sets Prometheus holds of a metric. */
async function heldSeries(entry: CatalogueEntry): Promise<Record<string, string>[]> {
  const form = new URLSearchParams({
    'match[]': `{__name__=${JSON.stringify(entry.name)}}`,
    start: String(START / 1000),
    end: String(END / 1000),
  })
  const response = await request(`${url}/api/v1/series?${form}`)
  return ((await response.body.json()) as { data: Record<string, string>[] }).data
}

test('every metric of the catalogue is there with all its series', { skip }, async () => {
  for (const entry of catalogue) {
    const held = await heldSeries(entry)
    assert.equal(held.length, entry.series, entry.name)
  }
  assert.equal(new Set(catalogue.map(({ name }) => name)).size, catalogue.length)
})

function everyHour(query: string) {
  return rangeMatrix(url, { query, start: START, end: END, stepMs: HOUR })
}

test('odd label values come back as written', { skip }, async () => {
  const held = (await everyHour('odd_labels')).map(({ metric }) => [metric['oddity'], metric['value'] ?? ''])
  assert.deepEqual(Object.fromEntries(held), ODD_VALUES)
})

test('UTF-8 names are queried in quotes', { skip }, async () => {
  const [first] = await everyHour('{"http.server.duration", "service.name"="checkout"}')
  assert.equal(first?.metric['service.name'], 'checkout')
  assert.equal((await everyHour('{"größe \\"der\\" 📦"}')).length, 1)
})

test('native histograms show as histograms, and the mixed series as both', { skip }, async () => {
  const [native] = await everyHour('rpc_duration_seconds{service="cart"}')
  assert.equal(native?.values, undefined)
  assert.equal(native?.histograms?.length, 25)
  const [mixed] = await everyHour('float_and_histogram{part="a"}')
  assert.equal(mixed?.values?.length, 12)
  assert.equal(mixed?.histograms?.length, 13)
})

test('a series ends at its marker, or five minutes after it fell silent', { skip }, async () => {
  const range = { start: START, end: START + 16 * MINUTE, stepMs: 15 * SECOND }
  const last = async (query: string) => {
    const [series] = await rangeMatrix(url, { ...range, query })
    const times = series!.values!.map(([t]) => t * SECOND - START)
    return times.filter((t) => t < 15 * MINUTE).at(-1)
  }
  assert.equal(await last('flapping{ends="marker"}'), 7 * MINUTE - 15 * SECOND)
  assert.equal(await last('flapping{ends="silence"}'), 12 * MINUTE - 30 * SECOND)
})

test('special values come back in their spelling', { skip }, async () => {
  const found = await everyHour('special_values{kind!~"cycle|slow"}')
  const spelled = Object.fromEntries(found.map(({ metric, values }) => [metric['kind'], values![1]![1]]))
  assert.deepEqual(spelled, {
    nan: 'NaN',
    inf: '+Inf',
    neginf: '-Inf',
    negzero: '-0',
    tiny: '1e-07',
    huge: '1e+21',
    denormal: '5e-324',
    third: '0.3333333333333333',
  })
})
