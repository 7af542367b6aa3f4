/** Stores by their URLs, as a program gets them from the library. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openStore, WindowpaneError } from '../../src/index.ts'
import { fakeClock, testCells, testStore } from '../../src/testing/index.ts'
import { scratchDirectory } from './scratch.ts'
import { entryOf, keyNumber } from './truth.ts'

const retentionMs = 3_600_000
const urls = {
  memory: () => 'memory:',
  lmdb: () => `lmdb:${scratchDirectory()}?size=64MiB&reserve=0B`,
}

for (const [name, url] of Object.entries(urls)) {
  testStore({
    name: `openStore, ${name}`,
    capabilities: { retentionMs, rounds: 10 },
    create: async ({ clock }) => (await openStore(url(), { clock, retentionMs })).panes,
  })
  testCells({
    name: `openStore, ${name}`,
    rounds: 10,
    async create({ clock }) {
      const { cells, close } = await openStore(url(), { clock })
      assert.ok(cells)
      return { cells, end: close }
    },
  })
  test(`${name}: closing closes both faces, and may be done again`, async () => {
    const opened = await openStore(url())
    await opened.panes.write(keyNumber(1), entryOf(1, { from: 0, to: 3 }, Date.UTC(2026, 0, 1)))
    await opened.close()
    await opened.close()
    assert.equal(await opened.panes.read(keyNumber(1), { from: 0, to: 3 }), undefined)
  })
}

test('a file is found again by its URL', async () => {
  const [url, clock] = [urls.lmdb(), fakeClock()]
  const before = await openStore(url, { clock })
  await before.panes.write(keyNumber(1), entryOf(1, { from: 0, to: 3 }, clock.now()))
  await before.close()
  const after = await openStore(url, { clock })
  assert.equal((await after.panes.read(keyNumber(1), { from: 0, to: 9 }))?.panes[0]?.to, 3)
  await after.close()
})

const failure = async (url: string): Promise<WindowpaneError> => {
  const error = await openStore(url).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof WindowpaneError, url)
  return error
}

test('a store that cannot be opened is an error with a code, a cause and a remedy', async () => {
  const error = await failure('lmdb:/dev/null/panes')
  assert.equal(error.code, 'WINDOWPANE_STORE_UNAVAILABLE')
  assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOTDIR')
  assert.match(error.message, /^the store cannot be opened: \/dev\/null\/panes cannot be used: /)
  assert.match(error.remedy, /a directory it may write to/)
})

test('a wrong URL is refused with its mistake', async () => {
  for (const [url, message, remedy] of [
    ['ldmb:/x', /has the scheme "ldmb:", which no store of this release has/, /^Did you mean "lmdb:"\?$/],
    ['lmdb:', /names no folder/, /^Write it as memory: or lmdb:PATH/],
    ['lmdb:/x?size=1B', /size: expected a size .* got "1B"/, /^Write it as memory: or lmdb:PATH/],
    ['memory:?size=1GiB', /size: unknown key of type memory/, /^Write it as memory: or lmdb:PATH/],
  ] as const) {
    const error = await failure(url)
    assert.equal(error.code, 'WINDOWPANE_BAD_OPTION')
    assert.match(error.message, message)
    assert.match(error.remedy, remedy)
  }
})
