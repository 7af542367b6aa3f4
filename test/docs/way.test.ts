/** CONTRIBUTING.md names every file that a request runs through: compared with the functions that V8 counts. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { ask, outcomeOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { oldRange, startBoth } from '../proxy/setup.ts'

const root = join(import.meta.dirname, '../..')

/** The files of the first table. A name without a folder is in the folder of the name before it. */
function namedFiles(): Set<string> {
  const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const table = page.slice(page.indexOf('| step | file | job |'), page.indexOf('Outside this path:'))
  const files = new Set<string>()
  for (const row of table.split('\n')) {
    let folder = ''
    for (const [, name] of (row.split('|')[2] ?? '').matchAll(/`([^`]+\.ts)`/g)) {
      if (name!.includes('/')) folder = dirname(name!)
      files.add(name!.includes('/') ? name! : join(folder, name!))
    }
  }
  return files
}

/** Values that many files share, what puts the proxy together, and this test's own clock. */
const besides = /^src\/(?:core|testing|proxy\/assembly)\//

test('CONTRIBUTING.md names every file that a request runs through', async (t) => {
  const { url } = await startBoth(t)
  const keptOpen = { headers: { Connection: 'keep-alive' } }
  const session = new Session()
  session.connect()
  t.after(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  const range = oldRange()
  const gzip = { headers: { ...keptOpen.headers, 'Accept-Encoding': 'gzip' } }
  const outcomes = []
  for (const [path, given] of [
    [rangePath(range), keptOpen],
    [rangePath(range), keptOpen],
    [rangePath(range), gzip],
    [rangePath({ ...range, end: range.end + 60_000 }), keptOpen],
    [rangePath(oldRange(3)), {}],
  ] as const) {
    outcomes.push(outcomeOf(await ask(url, path, given)))
  }
  assert.deepEqual(outcomes, ['miss/absent', 'hit', 'hit', 'partial/absent', 'miss/absent'])
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const run = result
    .filter(({ functions }) =>
      functions.some((each) => each.functionName !== '' && each.ranges[0]!.count > 0),
    )
    .map(({ url: file }) => file.slice(`file://${root}/`.length))
    .filter((file) => file.startsWith('src/') && !besides.test(file))
  // By the shortcut: a request that node:http reads runs through fewer files.
  assert.ok(run.includes('src/proxy/front/send-buffer.ts'))
  const named = namedFiles()
  assert.deepEqual(
    run.filter((file) => !named.has(file)),
    [],
  )
})
