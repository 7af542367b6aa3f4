import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { sampleVisit, visits } from '../../test/rigs/visits.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { DecisionLog } from './decision-log.ts'
import { Log, type LogFormat, type LogLevel, toStream } from './log.ts'
import { recordOf } from './record.ts'

function newLog(level: LogLevel = 'debug', format: LogFormat = 'json') {
  const clock = fakeClock(Date.UTC(2026, 1, 1))
  const lines: string[] = []
  const log = new Log({
    clock,
    level: () => level,
    format: () => format,
    write: (line) => lines.push(line) > 0,
  })
  const decisions = new DecisionLog(log, clock)
  const observe = (name: keyof typeof visits) => decisions.observe(recordOf('main', visits[name]))
  const parsed = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { clock, log, lines, observe, parsed, decisions }
}

test('levels', () => {
  const { log, lines } = newLog('warn')
  log.line('debug', 'a')
  log.line('info', 'b')
  log.line('warn', 'c')
  log.line('error', 'd', { n: 1 })
  assert.deepEqual(lines, [
    '{"time":"2026-02-01T00:00:00.000Z","level":"warn","message":"c"}\n',
    '{"time":"2026-02-01T00:00:00.000Z","level":"error","message":"d","n":1}\n',
  ])
  const silent = newLog('silent')
  silent.log.line('error', 'x')
  assert.deepEqual(silent.lines, [])
})

test('at debug every decision is a line', () => {
  const { observe, parsed } = newLog('debug')
  observe('partial')
  observe('partial')
  assert.equal(parsed().length, 2)
  const { outcome, reason, cached, asked, from, ms, status, backend } = parsed()[0]!
  assert.deepEqual(
    { outcome, reason, cached, asked, from, ms, status, backend },
    {
      ...{
        outcome: 'partial',
        reason: 'expired',
        cached: 54,
        asked: 6,
        ms: 10,
        status: 200,
        backend: 'main',
      },
      from: '2026-01-31T23:00:00.000Z',
    },
  )
})

test('at info one of a kind in ten seconds, with the number it stands for', async () => {
  const { clock, observe, parsed } = newLog('info')
  for (let i = 0; i < 100; i++) observe('hit')
  observe('partial')
  assert.deepEqual(
    parsed().map(({ outcome, alike }) => [outcome, alike]),
    [
      ['hit', undefined],
      ['partial', undefined],
    ],
  )
  await clock.advance(10_000)
  observe('hit')
  assert.deepEqual([parsed()[2]!['outcome'], parsed()[2]!['alike'], parsed().length], ['hit', 99, 3])
})

test('an outage is logged when it begins and when it ends', () => {
  const { observe, parsed } = newLog('warn')
  for (const name of ['partial', 'stale', 'hit', 'stale', 'stale'] as const) observe(name)
  assert.deepEqual(
    parsed().map(({ message }) => message),
    ['database main: cannot be reached'],
  )
  const info = newLog('info')
  for (const name of ['stale', 'hit', 'partial', 'partial'] as const) info.observe(name)
  const said = info.parsed().map(({ message }) => message)
  assert.deepEqual(
    said.filter((message) => message !== 'request'),
    ['database main: cannot be reached', 'database main: answers'],
  )
})

test('credentials are never written', () => {
  const { log, decisions, lines } = newLog('debug')
  const secrets =
    'http://user:hunter22@db:9090/x Authorization: Bearer hunter22.abc, Basic aHVudGVyMjI= ?token=hunter22'
  log.line('info', secrets, { url: secrets, aHVudGVyMjI: false })
  decisions.observe(recordOf('main', sampleVisit({ outcome: 'error', reason: 'internal', detail: secrets })))
  for (const line of lines) {
    assert.ok(!line.includes('hunter22'), line)
    assert.ok(!line.includes('aHVudGVyMjI='), line)
  }
})

test('text for people: one line, whatever it holds', () => {
  const { log, lines } = newLog('info', 'text')
  log.line('info', 'started\nX', {
    url: 'http://a:1',
    why: 'two words',
    odd: 'a\n\u001b[2Jb',
    none: undefined,
  })
  assert.equal(lines.length, 1)
  assert.equal(lines[0]!.split('\n').length, 2)
  assert.ok(!lines[0]!.includes('\u001b'))
  assert.match(lines[0]!, /^00:00:00\.000 info {2}started\\u000aX url=http:\/\/a:1 why="two words" odd=/)
})

test('values are bounded', () => {
  const { log, lines } = newLog()
  log.line('info', 'x'.repeat(100_000), { y: 'y'.repeat(100_000) })
  assert.ok(lines[0]!.length < 5000)
})

test('a reader that is too slow loses lines, and they are counted', () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  const clock = fakeClock()
  const log = new Log({ clock, level: () => 'info', format: () => 'json', write: toStream(stream) })
  for (let i = 0; i < 3000; i++) log.line('info', 'x'.repeat(1000))
  assert.ok(log.dropped > 1000 && log.dropped < 3000, `${log.dropped}`)
})
