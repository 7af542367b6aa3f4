/** Commands on an interactive terminal. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { runCommand } from '../../src/cli/command.ts'
import { withProgress } from '../../src/cli/progress.ts'
import { purge } from '../../src/cli/purge.ts'
import { tail } from '../../src/cli/tail.ts'
import { type TailRequest, tailLine } from '../../src/cli/tail-text.ts'
import { top } from '../../src/cli/top.ts'
import { until } from '../proxy/client.ts'
import { startFakeAdmin, talkingTo } from './fake-admin.ts'
import { fakeIo } from './fake-io.ts'

const terminal = { columns: 100, rows: 24, hasColour: true }
const plain = { ...terminal, hasColour: false }
const escapes = new RegExp(`${'\u001b'}\\[[\\d;?]*[A-Za-z]`, 'g')

const counts = { dryRun: true, shapes: 1, buckets: 7, selection: { all: true }, examples: [] }

test('purge prompts, and follows the answer', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/purge': counts })
  for (const [answer, code, targets] of [
    [false, 4, ['/-/purge?dryRun=1']],
    [true, 0, ['/-/purge?dryRun=1', '/-/purge']],
  ] as const) {
    admin.asked.length = 0
    const io = fakeIo({ terminal, answer })
    assert.equal(await runCommand(purge, ['--all', '--admin', admin.url], io), code)
    assert.deepEqual(
      admin.asked.map(({ target }) => target),
      targets,
    )
    assert.match(io.said.out, /^Selected: 7 buckets of 1 shape \(all\)\.\n/)
    if (!answer) assert.equal(io.said.err, `${talkingTo(admin)}windowpane: nothing was purged\n`)
  }
})

test('a purge whose mark the store could not keep is reported as such', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/purge': { ...counts, dryRun: false, note: 'Purge again.' } })
  const io = fakeIo()
  assert.equal(await runCommand(purge, ['--all', '--yes', '--admin', admin.url], io), 0)
  assert.equal(io.said.err, `${talkingTo(admin)}windowpane: Purge again.\n`)
})

const shape = {
  shape: '["/api/v1/query_range","sum(rate(http_requests_total[5m]))",60000,["timeout","5s"]]',
  key: 'k',
  backend: 'main',
  stepMs: 60_000,
  count: 3,
  outcomes: { hit: 2, miss: 1 },
  bytes: 3_000_000,
  savedSeconds: 12,
  asked: 1,
  askedSeconds: 2,
}

test('top is drawn in place, anew every two seconds, and leaves the terminal as it was', async (t) => {
  const status = { version: '1.2.3', uptimeSeconds: 60, memory: { used: 2 ** 20, limit: 2 ** 29 } }
  const admin = await startFakeAdmin(t, { '/-/status': status, '/-/shapes': [shape] })
  const io = fakeIo({ terminal })
  const ended = runCommand(top, ['--admin', admin.url], io)
  await until(() => io.said.out !== '')
  assert.ok(io.said.out.startsWith('\u001b[?1049h'))
  const seen = io.said.out.replaceAll(escapes, '')
  assert.match(
    seen,
    /^windowpane 1\.2\.3, up 60 s · 3 requests of 1 shape · any hit 67 % · saved 12 s · memory 1\.0 MiB/,
  )
  assert.match(seen, /\n +3 +67% +33% +12 s +2\.9 MiB +@60s sum\(rate\(http_requests_total\[…/)
  for (const line of seen.split('\r\n')) assert.ok(line.length <= 100, line)
  const before = io.said.out.length
  await io.clock.advance(2_000)
  await until(() => io.said.out.length > before)
  await admin.close()
  await io.clock.advance(2_000)
  await until(() => io.said.out.includes('no admin listener answers'))
  io.interrupt()
  assert.equal(await ended, 0)
  assert.ok(io.said.out.endsWith('\u001b[?1049l'))
})

test('--once does not take the terminal over', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/status': { version: '1', uptimeSeconds: 1 }, '/-/shapes': [] })
  const io = fakeIo({ terminal: plain })
  assert.equal(await runCommand(top, ['--once', '--admin', admin.url], io), 0)
  assert.match(io.said.out, /no requests yet\n$/)
  assert.ok(!io.said.out.includes('\u001b'))
})

const request: TailRequest = {
  at: '2026-01-01T12:34:56.789Z',
  backend: 'main',
  outcome: 'partial',
  reason: 'expired',
  shape: shape.shape,
  window: { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:40:00Z', buckets: 100 },
  runs: [
    { source: 'cache', from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:39:00Z' },
    { source: 'origin', from: '2026-01-01T01:39:00Z', to: '2026-01-01T01:40:00Z' },
  ],
  asked: 1,
  ms: { total: 8.25 },
}

test('a decision is a line with its window as a bar, cut where the terminal ends', () => {
  const line = tailLine(request, fakeIo({ terminal: plain }))
  assert.equal(
    line.slice(0, 87),
    `12:34:56.789 main partial/expired  ${'█'.repeat(19)}▒      99/100     8.3 ms sum(rate`,
  )
  assert.ok(line.length === 100 && line.endsWith('…'), `${line.length}`)
  const coloured = tailLine(request, fakeIo({ terminal }))
  assert.equal(coloured.replaceAll(escapes, ''), line)
  assert.ok(tailLine(request, fakeIo()).includes(`${'#'.repeat(19)}+`))
  assert.match(tailLine({ ...request, unstored: 'vary' }, fakeIo()), / ms \(unstored: vary\) sum\(rate/)
})

test('the content of a query cannot control the terminal', () => {
  const nasty = { ...request, shape: 'up\u001b[2J\r\n\u009bfoo\u0007', reason: '\u001b]0;title\u0007' }
  const line = tailLine(nasty, fakeIo())
  assert.doesNotMatch(line, /\p{Cc}/u)
})

test('tail reports dropped events, and continues after an unreadable event', async (t) => {
  const events = [
    ': hello\n\n',
    `id: 5\nevent: request\ndata: ${JSON.stringify(request)}\n\n`,
    'event: skipped\ndata: {"count":12}\n\n',
    'event: request\ndata: {nonsense\n\n',
  ]
  let calls = 0
  const lastIds: (string | undefined)[] = []
  const admin = await startFakeAdmin(t, {
    '/-/requests': (
      incoming: { headers: Record<string, string> },
      response: { writeHead(status: number): void; write(text: string): void; end(): void },
    ) => {
      calls++
      lastIds.push(incoming.headers['last-event-id'])
      response.writeHead(200)
      // In pieces that do not end where events do.
      const text = events.join('')
      for (let i = 0; i < text.length; i += 37) response.write(text.slice(i, i + 37))
      response.end()
    },
  })
  const io = fakeIo()
  const ended = runCommand(tail, ['--admin', admin.url], io)
  await until(() => /trying again/.test(io.said.err))
  assert.match(io.said.err, /12 more were answered and are not shown/)
  await io.clock.advance(300)
  await until(() => calls === 2)
  assert.deepEqual(lastIds, [undefined, '5'])
  io.interrupt()
  assert.equal(await ended, 0)
})

test('an operation of more than a second shows progress: drawn and erased on a terminal, a line elsewhere', async () => {
  for (const [io, shown] of [
    [fakeIo({ terminal }), 'waiting …\r\u001b[K'],
    [fakeIo(), 'windowpane: waiting\n'],
  ] as const) {
    let finish = (_: string): void => {}
    const work = withProgress(io, 'waiting', new Promise<string>((resolve) => (finish = resolve)))
    await io.clock.advance(999)
    assert.equal(io.said.err, '')
    await io.clock.advance(1)
    finish('done')
    assert.equal(await work, 'done')
    assert.equal(io.said.err, shown)
    assert.equal(await withProgress(io, 'quick', Promise.resolve(1)), 1)
    assert.equal(io.said.err, shown)
  }
})
