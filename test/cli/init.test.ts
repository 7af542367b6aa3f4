/** `windowpane init`: the file it writes can be used, and holds everything there is to set. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { starterFile } from '../../src/cli/starter.ts'
import { loadConfig } from '../../src/config/load.ts'
import { rowsOf } from '../../src/config/names.ts'
import { definition } from '../../src/config/schema.ts'
import { leavesOf } from '../../src/config/view.ts'
import { runToEnd } from './child.ts'

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-init-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

const load = (text: string) => {
  const loaded = loadConfig({ file: { name: 'starter.yaml', bytes: Buffer.from(text) } })
  assert.deepEqual('problems' in loaded ? loaded.problems : [], [])
  assert.ok('config' in loaded)
  return Object.fromEntries(leavesOf(loaded).map(({ path, value }) => [path, value]))
}

const starter = starterFile({ url: 'http://prometheus:9090', file: 'w.yaml', schema: './s.json' })

test('the file has the defaults', () => {
  const plain = load('backends: { main: { url: "http://prometheus:9090" } }\n')
  assert.deepEqual(load(starter), plain)
  // Every key that has a value, switched on: nothing changes, but for the store that is an example.
  assert.deepEqual(load(starter.replaceAll(/^( *)#(?=[a-z]\w*: \S|disk:$)/gim, '$1')), {
    ...plain,
    'stores.disk.type': 'lmdb',
    'stores.disk.url': null,
    'stores.disk.path': '/var/lib/windowpane',
    'stores.disk.size': '10GiB',
    'stores.disk.reserve': '256MiB',
    'stores.disk.timeout': '250ms',
  })
})

test('the file has every key but secrets and those of other types', () => {
  for (const { path, key, of } of rowsOf(definition)) {
    if (
      key.isSecret ||
      path.startsWith('rules.') ||
      (of.length > 0 && !of.includes('ladder') && !of.includes('lmdb'))
    )
      continue
    const name = path.split('.').at(-1)!
    // Keys of list entries are named where the list is described.
    const shown = path.includes('<n>.') ? `\\b${name}\\b` : `^ *#?${name}:`
    assert.match(starter, new RegExp(shown, 'm'), path)
  }
  for (const line of starter.split('\n')) assert.ok(line.length <= 120, line)
})

test('it is written, checked, not overwritten, and replaced by force', async (t) => {
  const cwd = await folder(t)
  const made = await runToEnd(t, ['init'], { cwd })
  assert.deepEqual([made.code, made.err], [0, ''])
  assert.match(
    made.out,
    /^Wrote windowpane\.yaml\. Next:\n {2}windowpane check --config windowpane\.yaml --connect\n/,
  )
  assert.equal((await runToEnd(t, ['check', '--config', 'windowpane.yaml'], { cwd })).out, 'ok\n')
  const again = await runToEnd(t, ['init', 'http://other:9090'], { cwd })
  assert.equal(again.code, 4)
  assert.match(again.err, /there is a file windowpane\.yaml already\n.*--force/)
  const forced = await runToEnd(t, ['init', 'http://other:9090', '--force', '--json'], { cwd })
  assert.deepEqual(JSON.parse(forced.out), {
    file: 'windowpane.yaml',
    url: 'http://other:9090',
    schema: null,
  })
  assert.match(await readFile(join(cwd, 'windowpane.yaml'), 'utf8'), /^ {4}url: http:\/\/other:9090$/m)
  const odd = await runToEnd(t, ['init', 'w.yaml', 'ftp://x'], { cwd })
  assert.equal(odd.code, 2)
  assert.match(odd.err, /expected the URL of a database/)
  const lost = await runToEnd(t, ['init', 'no/such/folder.yaml'], { cwd })
  assert.equal(lost.code, 1)
})

test('editors find the schema, where its place is stable', async (t) => {
  const { out } = await runToEnd(t, ['init', '-'], { cwd: join(import.meta.dirname, '../..') })
  assert.match(out, /^# yaml-language-server: \$schema=\.\/docs\/reference\/configuration\.schema\.json\n/)
})
