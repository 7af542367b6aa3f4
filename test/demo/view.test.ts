/** The output of the demo, line by line, at three sizes. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Visit } from '../../src/demo/crowd.ts'
import { Tally } from '../../src/demo/tally.ts'
import { plainDisplay, terminalDisplay } from '../../src/demo/terminal.ts'
import { drawFrame } from '../../src/demo/view.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

const hour = 3_600_000
const place = { proxyUrl: 'http://127.0.0.1:9191', adminUrl: 'http://127.0.0.1:9192', dashboards: 12 }
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
  const load = { bucketSeconds: 0 }
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

const small = `
 windowpane demo 12 dashboards · 193 queries · 2.1/s · 1:35
                                    last minute since start
 queries with a hit   █████████████     100.0 %      99.5 %
 data from cache      ████████████▉      98.6 %      98.2 %
 database load saved  ████████████▉      98.6 %      98.2 %
 first byte           queries    p50    p99
 hit                       95 0.9 ms 0.9 ms  all from cache
 partial                   97  12 ms  63 ms  tail fetched
 miss                       1 141 ms 141 ms  all fetched
 database alone               117 ms 117 ms  no cache
 stale points         0.013 %, p99 1.2 s old; none past TTL
 recent requests      █ cached  ░ fetched  ▒ shared a fetch
 partial  ░░░░░░░░░░░█████████   63 ms   1 h  sum by (job)…
 Grafana: use http://127.0.0.1:9191
 Look inside: windowpane top (or tail, status, explain)
`

test('at 60 columns and 15 rows', async () => {
  const frame = drawFrame(await scene(), place, { columns: 60, rows: 15, hasColor: false })
  assert.equal(`\n${frame.join('\n')}\n`, small)
})

const narrow = `
 windowpane demo                     12 dashboards · 193 queries · 2.1/s · 1:35

                                                        last minute since start
 queries with a hit   █████████████████████████████████     100.0 %      99.5 %
 data from cache      ████████████████████████████████▌      98.6 %      98.2 %
 database load saved  ████████████████████████████████▌      98.6 %      98.2 %
                      3 h of data queried instead of 194 h: 55.6× less

 first byte               queries        p50        p99
 hit                           95     0.9 ms     0.9 ms  all from cache
 partial                       97      12 ms      63 ms  tail fetched
 miss                           1     141 ms     141 ms  all fetched
 database alone                       117 ms     117 ms  no cache

 stale points         0.013 %, p99 1.2 s old; none past TTL

 recent requests      █ cached  ░ fetched  ▒ shared a fetch
 partial  ░░░░░░░░░░░░░░█████████████   63 ms   1 h  sum by (job) (rate(http_r…
 partial  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  9.1 ms   1 h  sum by (job) (rate(http_r…
 hit      ███████████████████████████  0.9 ms   1 h  sum by (job) (rate(http_r…
 partial  ██████████████████████████░   12 ms   1 h  sum by (job) (rate(http_r…

 Grafana: use http://127.0.0.1:9191 as a Prometheus URL · Ctrl-C ends
 Look inside: windowpane top (or tail, status, explain)
`

test('at 80 columns', async () => {
  const frame = drawFrame(await scene(), place, { columns: 80, rows: 24, hasColor: false })
  assert.equal(`\n${frame.join('\n')}\n`, narrow)
})

const wide = `
 windowpane demo                                                             12 dashboards · 193 queries · 2.1/s · 1:35

                                                                                                last minute since start
 queries with a hit   █████████████████████████████████████████████████████████████████████████     100.0 %      99.5 %
 data from cache      ████████████████████████████████████████████████████████████████████████·      98.6 %      98.2 %
 database load saved  ████████████████████████████████████████████████████████████████████████·      98.6 %      98.2 %
                      3 h of data queried instead of 194 h: 55.6× less

 first byte               queries        p50        p99
 hit                           95     0.9 ms     0.9 ms  all from cache
 partial                       97      12 ms      63 ms  tail fetched
 miss                           1     141 ms     141 ms  all fetched
 database alone                       117 ms     117 ms  no cache

 stale points         0.013 %, p99 1.2 s old; none past TTL

 recent requests      █ cached  ░ fetched  ▒ shared a fetch
 partial  ░░░░░░░░░░░░░░░░░░░░░████████████████████   63 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 partial  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  9.1 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 hit      █████████████████████████████████████████  0.9 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 partial  ████████████████████████████████████████░   12 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 hit      █████████████████████████████████████████  0.9 ms   1 h  sum by (job) (rate(http_requests_total[1m]))
 partial  ████████████████████████████████████████░   12 ms   1 h  sum by (job) (rate(http_requests_total[1m]))

 Grafana: use http://127.0.0.1:9191 as a Prometheus URL · Ctrl-C ends
 Look inside: windowpane top (or tail, status, explain)
`

test('at 120 columns', async () => {
  const frame = drawFrame(await scene(), place, { columns: 120, rows: 26, hasColor: false })
  assert.equal(`\n${frame.join('\n')}\n`, wide)
})

test('no line is wider than the terminal, no frame higher, whatever the size', async () => {
  const picture = await scene()
  for (const [columns, rows] of [
    [60, 15],
    [70, 20],
    [80, 24],
    [100, 50],
    [200, 60],
  ] as const) {
    const frame = drawFrame(picture, place, { columns, rows, hasColor: false })
    assert.ok(frame.length <= rows, `${frame.length} lines at ${columns}×${rows}`)
    for (const line of frame) assert.ok(line.length <= columns, `${line.length} at ${columns}: ${line}`)
  }
})

test('the first pictures of a demo say that it warms up, and nothing about the cache', () => {
  const load = { bucketSeconds: 0 }
  const tally = new Tally(fakeClock(), load)
  const isWarming = () => {
    const text = drawFrame(tally.picture(), place, { columns: 80, rows: 24, hasColor: true }).join('\n')
    assert.ok(!text.includes('NaN'))
    return text.includes('warming up') && !text.includes(' % ')
  }
  assert.ok(isWarming())
  load.bucketSeconds += 3615
  tally.visited(visitOf('miss/absent asked=241 buckets=241', 141.2), question)
  assert.ok(isWarming())
  for (let i = 0; i < 3; i++) tally.visited(visitOf('hit buckets=241', 0.2), undefined)
  assert.ok(!isWarming())
})

test('a terminal is left as it was found; colours only where wanted; lines have no control codes', async () => {
  const picture = await scene()
  const written: string[] = []
  const output = { columns: 80, rows: 24, write: (text: string) => written.push(text) }
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
