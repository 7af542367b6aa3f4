import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { version } from '../src/version.ts'
import { pages } from './reference.ts'

for (const [path, text] of pages()) {
  test(`${path} is what the code says (npm run docs writes it)`, async () => {
    assert.equal(await readFile(path, 'utf8'), text)
  })
}

test('the version is that of the package', async () => {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
  assert.equal(version, manifest.version)
})
