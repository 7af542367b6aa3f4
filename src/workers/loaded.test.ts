/** The modules that a thread for requests loads: every worker has them in memory once more. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const listing = `
  import { createRequire } from 'node:module'
  await import(${JSON.stringify(new URL('./worker.ts', import.meta.url).href)})
  console.log(JSON.stringify([...process.moduleLoadList, ...Object.keys(createRequire(import.meta.url).cache)]))
`

test('a worker loads neither the whole of undici nor the undici inside Node', () => {
  const args = ['--input-type=module', '--eval', listing]
  const loaded = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as string[]
  assert.ok(loaded.some((name) => name.endsWith('undici/lib/dispatcher/pool.js')))
  assert.deepEqual(
    loaded.filter((name) => /deps\/undici\/undici$|undici\/index\.js$|undici\/lib\/web\/fetch\//.test(name)),
    [],
  )
})
