import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { onceFolder } from './cache.ts'

const base = await mkdtemp(join(tmpdir(), 'windowpane-cache-'))
after(() => rm(base, { recursive: true }))

test('a folder wanted by several at once is filled once', async () => {
  const target = join(base, 'shared')
  let fills = 0
  const fill = async (folder: string) => {
    fills++
    await writeFile(join(folder, 'content'), 'complete')
  }
  await Promise.all(Array.from({ length: 5 }, () => onceFolder(target, fill)))
  assert.equal(fills, 1)
  assert.equal(await readFile(join(target, 'content'), 'utf8'), 'complete')
})

test('a failed fill leaves nothing behind, and the next one works', async () => {
  const target = join(base, 'failing')
  const failing = onceFolder(target, async (folder) => {
    await writeFile(join(folder, 'half'), '')
    throw new Error('no network')
  })
  await assert.rejects(failing, /no network/)
  assert.deepEqual(
    (await readdir(base)).filter((name) => name.includes('failing')),
    [],
  )
  await onceFolder(target, async (folder) => writeFile(join(folder, 'whole'), ''))
  assert.deepEqual(await readdir(target), ['whole'])
})

test('the lock of a dead process does not block', async () => {
  const target = join(base, 'orphan')
  const beyondAnyProcessId = 2 ** 30
  await writeFile(`${target}.lock`, String(beyondAnyProcessId))
  await onceFolder(target, async () => {})
  assert.deepEqual(await readdir(target), [])
})
