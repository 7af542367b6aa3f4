/** A folder of a durable store that another user could have prepared. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { check } from '../../src/cli/check.ts'
import { runCommand } from '../../src/cli/command.ts'
import { checkStores } from '../../src/cli/doctor/stores.ts'
import { loadConfig } from '../../src/config/load.ts'
import { openStore } from '../../src/config/open-store.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { fakeIo } from '../cli/fake-io.ts'
import { defaults, scratchDirectory, scratchStore } from '../stores/scratch.ts'

const isRoot = process.getuid?.() === 0

interface Case {
  readonly what: string
  readonly refused: string
  readonly message: RegExp
  /** Returns the folder of the store. */
  prepare(scratch: string): string
  readonly skip?: string | false
}

const withMode = (mode: number) => (scratch: string) => {
  const folder = join(scratch, 'store')
  mkdirSync(folder)
  chmodSync(folder, mode)
  return folder
}

const withLink = (name: string, target: string) => (scratch: string) => {
  const folder = withMode(0o700)(scratch)
  symlinkSync(join(scratch, target), join(folder, name))
  return folder
}

const cases: readonly Case[] = [
  ...[0o777, 0o1777, 0o702].map((mode) => ({
    what: `mode ${mode.toString(8)}`,
    refused: 'writable_by_others',
    message: /can be written to by every user \(mode \d+\)/,
    prepare: withMode(mode),
  })),
  {
    what: 'writable by another group',
    refused: 'writable_by_others',
    message: /can be written to by group 54321, which is not that of this process/,
    prepare(scratch) {
      const folder = withMode(0o770)(scratch)
      chownSync(folder, process.getuid!(), 54_321)
      return folder
    },
    skip: !isRoot && 'only root can give a folder away',
  },
  {
    what: 'a link to nowhere as its folder',
    refused: 'dangling_symlink',
    message: /is a symbolic link to a folder that does not exist/,
    prepare(scratch) {
      symlinkSync(join(scratch, 'nowhere'), join(scratch, 'store'))
      return join(scratch, 'store')
    },
  },
  ...['panes.mdb', 'panes.mdb-lock', 'crashes', 'opening', 'panes.mdb.compact'].flatMap((name) =>
    ['victim', 'nowhere'].map((target) => ({
      what: `${name} as a link to ${target === 'victim' ? 'a file' : 'nowhere'}`,
      refused: 'not_a_regular_file',
      message: /is a symbolic link, and the store would write through it/,
      prepare: withLink(name, target),
    })),
  ),
  {
    what: 'a folder in the place of its file',
    refused: 'not_a_regular_file',
    message: /panes\.mdb is not a regular file/,
    prepare(scratch) {
      const folder = withMode(0o700)(scratch)
      mkdirSync(join(folder, 'panes.mdb'))
      return folder
    },
  },
]

for (const { what, refused, message, prepare, skip = false } of cases) {
  test(`refused with code, cause and remedy: ${what}`, { skip }, async () => {
    const scratch = scratchDirectory()
    const victim = join(scratch, 'victim')
    writeFileSync(victim, 'precious')
    const directory = prepare(scratch)

    const opened = await openLmdbStore({ ...defaults, clock: fakeClock(), directory })
    assert.ok('refused' in opened, 'it was opened')
    assert.equal(opened.refused, refused)
    assert.match(opened.detail, message)
    assert.ok(opened.remedy.length > 10)
    await assert.rejects(openStore(`lmdb:${directory}`), { code: 'WINDOWPANE_STORE_UNAVAILABLE' })

    const [finding, ...others] = await doctored(directory)
    assert.equal(finding!.status, 'fail')
    assert.match(finding!.sentence, message)
    assert.deepEqual(others, [])

    const io = fakeIo()
    const argv = ['http://a:9090', `--stores.disk.url=lmdb:${directory}`, '--backends.main.store=disk']
    assert.notEqual(await runCommand(check, argv, io), 0)
    assert.match(io.said.out, message)
    assert.match(io.said.out, new RegExp(`stores\\.disk\\.path: .*\\(${refused}\\)`))

    assert.equal(readFileSync(victim, 'utf8'), 'precious')
    assert.ok(!existsSync(join(scratch, 'nowhere')))
  })
}

test('a folder of this user alone is used, also through a link, or where its own group may write', async () => {
  for (const mode of [0o700, 0o755, 0o770]) {
    const scratch = scratchDirectory()
    const folder = withMode(mode)(scratch)
    if (process.getegid !== undefined) chownSync(folder, process.getuid!(), process.getegid())
    const link = join(scratch, 'link')
    symlinkSync(folder, link)
    const store = await scratchStore({ clock: fakeClock(), directory: link })
    await store.close()
    const io = fakeIo()
    const argv = ['http://a:9090', `--stores.disk.url=lmdb:${link}`, '--backends.main.store=disk']
    assert.equal(await runCommand(check, argv, io), 0, io.said.out)
  }
})

test('a store that no backend uses is not looked at', async () => {
  const directory = withMode(0o777)(scratchDirectory())
  assert.equal(await runCommand(check, ['http://a:9090', `--stores.disk.url=lmdb:${directory}`], fakeIo()), 0)
})

async function doctored(directory: string) {
  const flags = [
    { name: 'stores.disk.url', value: `lmdb:${directory}` },
    { name: 'backends.main.store', value: 'disk' },
  ]
  const loaded = loadConfig({ upstream: 'http://a:9090', flags })
  assert.ok('config' in loaded)
  const findings = await checkStores(loaded.config, fakeClock())
  return findings.filter(({ check: name }) => name === 'store disk')
}
