/** The output of the demo, line by line, at two widths. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Visit } from '../../src/demo/crowd.ts'
import { Tally } from '../../src/demo/tally.ts'
import { plainDisplay, terminalDisplay } from '../../src/demo/terminal.ts'
import { drawFrame } from '../../src/demo/view.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

const hour = 3_600_000
const place = { proxyUrl: 'http://127.0.0.1:9191', dashboards: 12 }
const end = Date.UTC(2026, 0, 1)
const query = 'sum by (job) (rate(http_requests_total[1m]))'
const question = { query, start: end - hour, end, stepMs: 15_000 }

const visitOf = (detail: string, tookMs: number): Visit => ({
  ...{ id: '1', question, status: 200, body: '', sentAt: end, receivedAt: end, tookMs },
  cacheStatus: `windowpane; detail="${detail}"`,
})

/** A minute and a half of a demo that does not vary. */
async function scene() {
  const clock = fakeClock()
  const load = { queries: 0, buckets: 0, bucketSeconds: 0 }
  const tally = new Tally(clock, load)
  const tail = { ...question, start: end - 60_000 }
  load.bucketSeconds += 3615
  tally.visited(visitOf('miss/absent asked=241 buckets=241', 141.2), question)
  for (let second = 0; second < 95; second++) {
    await clock.advance(1000)
    load.bucketSeconds += 75
    tally.visited(visitOf('partial/expired asked=5 buckets=241', 12.34), tail)
    tally.visited(visitOf('hit buckets=241', 0.94), undefined)
  }
  tally.visited(visitOf('partial/absent asked=0 buckets=241', 9.1), undefined)
  tally.visited(visitOf('partial/absent asked=121 buckets=241', 63), { ...question, end: end - hour / 2 })
  load.bucketSeconds += 1815
  tally.askedDirectly(117)
  tally.audited({ points: 23_000, outdated: [{ points: 3, ageMs: 1_234 }], violations: [] })
  return tally.picture()
}

const narrow = `
 windowpane demo                     12 dashboards · 193 queries · 2.1/s · 1:35

                                                       last minute  since start
 queries with any hit  ██████████████████████████████      100.0 %       99.5 %
 data from cache       █████████████████████████████▋       98.6 %       98.2 %
 backend load avoided  █████████████████████████████▋       98.6 %       98.2 %
                       12.6 k bucket-seconds asked instead of 698 k: 55.6× less

 latency                   queries        p50        p99
 hit                            95     0.9 ms     0.9 ms
 partial                        97      12 ms      63 ms
 miss                            1     141 ms     141 ms
 asked directly                        117 ms     117 ms

 true staleness        0.013 % out of date, p50 1.2 s, p99 1.2 s, max 1.2 s
                       1 answers, 23.0 k points compared; none beyond TTL

 recent requests       █ from cache   ░ fetched   ▒ shared a fetch
 partial  ░░░░░░░░░░░░░░█████████████   63 ms   1 h  sum by (job) (rate(http_r…
 partial  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  9.1 ms   1 h  sum by (job) (rate(http_r…
 hit      ███████████████████████████  0.9 ms   1 h  sum by (job) (rate(http_r…
 partial  ██████████████████████████░   12 ms   1 h  sum by (job) (rate(http_r…

 point your Grafana at http://127.0.0.1:9191 (Prometheus) · Ctrl-C ends
`

test('at 80 columns', async () => {
  const frame = drawFrame(await scene(), place, { columns: 80, rows: 24, hasColor: false })
  assert.equal(`\n${frame.join('\n')}\n`, narrow)
})

const wide = `
 windowpane demo                                                             12 dashboards · 193 queries · 2.1/s · 1:35

                                                                                               last minute  since start
 queries with any hit  ██████████████████████████████████████████████████████████████████████      100.0 %       99.5 %
 data from cache       █████████████████████████████████████████████████████████████████████·       98.6 %       98.2 %
 backend load avoided  █████████████████████████████████████████████████████████████████████·       98.6 %       98.2 %
                       12.6 k bucket-seconds asked instead of 698 k: 55.6× less

 latency                   queries        p50        p99
 hit                            95     0.9 ms     0.9 ms
 partial                        97      12 ms      63 ms
 miss                            1     141 ms     141 ms
 asked directly                        117 ms     117 ms

 true staleness        0.013 % out of date, p50 1.2 s, p99 1.2 s, max 1.2 s
                       1 answers, 23.0 k points compared; none beyond TTL

 recent requests       █ from cache   ░ fetched   ▒ shared a fetch
 partial  ░░░░░░░░░░░░░░░░░░░░░████████████████████   63 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 partial  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  9.1 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 hit      █████████████████████████████████████████  0.9 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 partial  ████████████████████████████████████████░   12 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 hit      █████████████████████████████████████████  0.9 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 partial  ████████████████████████████████████████░   12 ms   1 h  sum by (job) (rate(http_requests_total[1m]))

 point your Grafana at http://127.0.0.1:9191 (Prometheus) · Ctrl-C ends
`

test('at 120 columns', async () => {
  const frame = drawFrame(await scene(), place, { columns: 120, rows: 26, hasColor: false })
  assert.equal(`\n${frame.join('\n')}\n`, wide)
})

test('no line is wider than the terminal, no frame higher, whatever the size', async () => {
  const picture = await scene()
  for (const [columns, rows] of [
    [80, 24],
    [100, 50],
    [200, 60],
  ] as const) {
    const frame = drawFrame(picture, place, { columns, rows, hasColor: false })
    assert.ok(frame.length <= rows, `${frame.length} lines at ${columns}×${rows}`)
    for (const line of frame) assert.ok(line.length <= columns, `${line.length} at ${columns}: ${line}`)
  }
})

test('the first picture of a demo, with nothing counted yet, is drawn', () => {
  const tally = new Tally(fakeClock(), { queries: 0, buckets: 0, bucketSeconds: 0 })
  const frame = drawFrame(tally.picture(), place, { columns: 80, rows: 24, hasColor: true })
  assert.ok(!frame.join('').includes('NaN'))
})

test('a terminal is left as it was found; colours only where wanted; lines have no control codes', async () => {
  const picture = await scene()
  const written: string[] = []
  const output = { isTTY: true, columns: 80, rows: 24, write: (text: string) => written.push(text) }
  for (const hasColor of [true, false]) {
    written.length = 0
    const display = terminalDisplay(output, hasColor)
    display.open(place)
    display.show(picture, place)
    display.close(picture, place)
    const text = written.join('')
    for (const mode of ['?1049', '?25', '?7']) assert.ok(text.includes(`\u001b[${mode}`), mode)
    assert.equal(text.includes('\u001b[32m'), hasColor)
    assert.ok(written.at(-1)!.startsWith('\u001b[?7h\u001b[?25h\u001b[?1049l'))
  }
  written.length = 0
  const display = plainDisplay(output)
  display.open(place)
  display.show(picture, place)
  display.close(picture, place)
  assert.ok(!written.join('').includes('\u001b'))
})
