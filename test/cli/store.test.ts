import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../../src/cli/command.ts'
import { store } from '../../src/cli/store.ts'
import { fakeIo } from './fake-io.ts'

const abilities = { cells: true, ttl: 'none', pubsub: false }

async function run(argv: readonly string[], env: Record<string, string> = {}) {
  const io = fakeIo({ env })
  const code = await runCommand(store, argv, io)
  return { code, ...io.said }
}

test('check prints the features of the engine as JSON, and stores nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windowpane-store-'))
  const { code, out } = await run(['check', '--url', `lmdb:${folder}/cache`, '--json'])
  assert.equal(code, 0)
  const { ok, engine, version, created, capabilities } = JSON.parse(out)
  assert.deepEqual(
    { ok, engine, created, capabilities },
    {
      ok: true,
      engine: 'lmdb',
      created: [],
      capabilities: abilities,
    },
  )
  assert.match(version, /^\d+\.\d+\.\d+$/)
  assert.deepEqual(readdirSync(folder), [])
})

test('init of an engine that needs no tables creates nothing, time after time', async () => {
  for (let round = 0; round < 2; round++) {
    const { code, out } = await run(['init'], { WINDOWPANE_STORE_URL: 'memory:' })
    assert.equal(code, 0)
    assert.match(out, /^Nothing had to be created\.\nmemory /)
  }
  assert.match((await run(['init', '--print', '--url', 'memory:'])).out, /Nothing has to be created/)
})

test('a store that cannot be used: exit code 1, with the problem and its remedy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windowpane-store-'))
  writeFileSync(join(folder, 'notes.txt'), 'not a store')
  const url = `lmdb:${join(folder, 'notes.txt')}`
  const text = await run(['check', '--url', url])
  assert.equal(text.code, 1)
  assert.equal(text.out, '')
  assert.match(text.err, /^windowpane: lmdb:.*notes\.txt: .+\n.+\n$/)
  const report = JSON.parse((await run(['check', '--url', url, '--json'])).out)
  assert.equal(report.ok, false)
  assert.ok(report.error.code && report.error.detail && report.error.remedy)
})

test('a command line that cannot be meant: exit code 2', async () => {
  for (const argv of [
    [],
    ['check'],
    ['destroy', '--url', 'memory:'],
    ['check', '--url', 'memory:', '--print'],
    ['check', '--url', 'nonsense:x'],
    ['check', '--url', 'lmdb:'],
    ['init', 'twice', '--url', 'memory:'],
  ]) {
    const { code, err } = await run(argv)
    assert.equal(code, 2, argv.join(' '))
    assert.match(err, /^windowpane store: /)
  }
})
