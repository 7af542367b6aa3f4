/** ttl and ttl learn against a listener that follows the contract of the admin API. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { BackendTtl } from '../../src/proxy/admin/ttl.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { ttlReport } from '../../src/ttl/ttl-report.ts'
import { runToEnd } from './child.ts'
import { refusal, startFakeAdmin, talkingTo } from './fake-admin.ts'

const reportOf = (backend: string): BackendTtl => ({ backend, ...ttlReport(ladder(), undefined) })

const startTtl = (t: TestContext, ...reports: BackendTtl[]) => startFakeAdmin(t, { '/-/ttl': reports })

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-ttl-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

test('the curve is drawn; for programs one backend is one object, and several are a list', async (t) => {
  const admin = await startTtl(t, reportOf('main'))
  const drawn = await runToEnd(t, ['ttl', '--admin', admin.url])
  assert.deepEqual([drawn.code, drawn.err], [0, ''])
  assert.match(drawn.out, /^main: no staleness budget; the TTLs of its policy\n/)
  assert.ok(drawn.out.split('\n').length <= 31)
  const one = await runToEnd(t, ['ttl', '--json', '--admin', admin.url])
  assert.deepEqual(JSON.parse(one.out), reportOf('main'))
  admin.answers.set('/-/ttl', [reportOf('main'), reportOf('other')])
  const both = await runToEnd(t, ['ttl', '--json', '--admin', admin.url])
  assert.deepEqual(JSON.parse(both.out), [reportOf('main'), reportOf('other')])
})

test('a backend and a shape are sent as parameters, and refusals are shown', async (t) => {
  const admin = await startTtl(t, reportOf('main'))
  await runToEnd(t, ['ttl', '--backend', 'main', '--shape', 'rate(x[5m])', '--admin', admin.url])
  assert.equal(admin.asked[0]!.target, '/-/ttl?backend=main&shape=rate(x%5B5m%5D)')
  admin.answers.set('/-/ttl', refusal(400, 'there is no backend "mine"; there are: main'))
  const refused = await runToEnd(t, ['ttl', '--backend', 'mine', '--admin', admin.url])
  assert.deepEqual(
    [refused.code, refused.err],
    [2, 'windowpane: there is no backend "mine"; there are: main\n'],
  )
})

test('a drawing is written to a file: of one backend, whatever its rules have', async (t) => {
  const admin = await startTtl(t, reportOf('main'), { ...reportOf('main'), rule: 'exact' })
  const file = join(await folder(t), 'ttl.svg')
  const { code, out } = await runToEnd(t, ['ttl', '--svg', file, '--admin', admin.url])
  assert.deepEqual([code, out], [0, ''])
  assert.match(await readFile(file, 'utf8'), /^<svg xmlns=[\s\S]+<\/svg>\n$/)
  admin.answers.set('/-/ttl', [reportOf('main'), reportOf('other')])
  const several = await runToEnd(t, ['ttl', '--svg', file, '--admin', admin.url])
  assert.equal(several.code, 2)
  assert.match(several.err, /there are 2 backends, and a drawing shows one: name it with --backend/)
  const nowhere = await runToEnd(t, [
    'ttl',
    '--svg',
    '/nowhere/x.svg',
    '--backend',
    'a',
    '--admin',
    admin.url,
  ])
  assert.equal(nowhere.code, 2)
})

const line = (shape: string, changed: boolean) => JSON.stringify({ shape, age: 600, gap: 60, changed })

test('history is sent as it is, and the result is shown', async (t) => {
  const learnt = { backend: 'main', observations: 2, changed: 1, shapes: 2 }
  const admin = await startFakeAdmin(t, { '/-/ttl/learn': learnt })
  const file = join(await folder(t), 'history.jsonl')
  const text = `${line('up', true)}\n${line('down', false)}`
  await writeFile(file, `${text}\n\n`)
  const done = await runToEnd(t, ['ttl', 'learn', '--from', file, '--backend', 'main', '--admin', admin.url])
  assert.deepEqual([done.code, done.err], [0, talkingTo(admin)])
  assert.equal(
    done.out,
    'main: learned from 2 observations of 2 shapes, 1 of them changed. windowpane ttl shows the curve.\n',
  )
  assert.deepEqual([admin.asked[0]!.target, admin.asked[0]!.body], ['/-/ttl/learn?backend=main', text])
  const asData = await runToEnd(t, ['ttl', 'learn', '--from', file, '--json', '--admin', admin.url])
  assert.deepEqual(JSON.parse(asData.out), learnt)
})

test('without a file the proxy takes samples', async (t) => {
  const learnt = { backend: 'main', observations: 200, changed: 3, shapes: 4 }
  const admin = await startFakeAdmin(t, { '/-/ttl/learn': learnt })
  const argv = ['ttl', 'learn', '--gap', '30s', '--samples', '100', '--admin', admin.url]
  const done = await runToEnd(t, argv)
  assert.deepEqual([done.code, done.err], [0, talkingTo(admin)])
  assert.match(done.out, /^main: learned from 200 observations of 4 shapes, 3 of them changed\./)
  assert.deepEqual(
    admin.asked.map(({ method, target, body }) => [method, target, body]),
    [['POST', '/-/ttl/learn?gap=30s&samples=100', '']],
  )
})

test('a file with a mistake is refused by its line, before anything is sent', async (t) => {
  const admin = await startFakeAdmin(t, {})
  const file = join(await folder(t), 'history.jsonl')
  await writeFile(file, `${line('up', true)}\n{"shape":"up"}\n`)
  const { code, err } = await runToEnd(t, ['ttl', 'learn', '--from', file, '--admin', admin.url])
  assert.equal(code, 2)
  assert.ok(err.includes(`${file}: line 2 "age" is not a number of seconds; nothing was learned\n`), err)
  assert.deepEqual(admin.asked, [])
})

test('options that do not belong together are misuse', async (t) => {
  for (const [argv, said] of [
    [['ttl', 'teach'], '"teach" is not understood'],
    [['ttl', '--gap', '1m'], '--gap belongs to ttl learn'],
    [['ttl', 'learn', '--from', 'x', '--gap', '1m'], '--gap and --samples are for learning without a file'],
    [['ttl', 'learn', '--from', 'x', '--svg', 'y'], '--svg does not belong to ttl learn'],
    [['ttl', '--from', 'x'], '--from belongs to ttl learn'],
  ] as const) {
    const { code, err } = await runToEnd(t, [...argv])
    assert.equal(code, 2)
    assert.ok(err.includes(said), err)
  }
})
