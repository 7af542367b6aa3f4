import assert from 'node:assert/strict'
import test from 'node:test'
import { filesNamedBy, reaches, testFiles } from './selection.ts'

const all = testFiles()
const named = (pattern: string) => filesNamedBy(pattern, all)

test('a pattern is a file, a folder, a glob or a part of a path', () => {
  assert.deepEqual(named('test/proxy/shortcut.test.ts'), ['test/proxy/shortcut.test.ts'])
  assert.deepEqual(named('shortcut').sort(), [
    'test/proxy/shortcut-ends.test.ts',
    'test/proxy/shortcut.test.ts',
  ])
  const inFolder = all.filter((file) => file.startsWith('test/proxy/'))
  for (const pattern of ['test/proxy', './test/proxy/', 'test/proxy/*.test.ts', 'test/proxy/*']) {
    assert.deepEqual(named(pattern), inFolder, pattern)
  }
  assert.deepEqual(
    named('src/core/*.test.ts'),
    all.filter((file) => /^src\/core\/[^/]*$/.test(file)),
  )
})

test('a file that not every run includes can be named', () => {
  assert.deepEqual(named('test/long/own-parser.ts'), ['test/long/own-parser.ts'])
})

test('a pattern without a match selects nothing', () => {
  for (const pattern of ['no-such-test', 'test/nothing/*.test.ts']) assert.deepEqual(named(pattern), [])
})

test('the servers that a file needs are found through its imports', () => {
  const druid = 'function startDruidFixture('
  assert.ok(reaches(druid, ['test/druid/differential/native.test.ts']), 'through setup.ts')
  assert.ok(!reaches(druid, ['test/druid/differential/compare.test.ts', 'test/proxy/bodies.test.ts']))
})
