import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoadedConfig, loadConfig } from './load.ts'
import { settingsOf } from './settings.ts'

test('rules without a name are called by their place in the file, whichever backend they are for', () => {
  const text = `backends: { a: { url: 'http://a' }, b: { url: 'http://b', route: { path: /b } } }
rules:
  - { match: { backend: a }, mode: off }
  - { name: mine, match: { path: { contains: x } }, mode: off }
  - { match: { backend: b }, mode: off }
`
  const { config } = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(text) } }) as LoadedConfig
  const names = (backend: string) =>
    settingsOf(config)
      .get(backend)!
      .rules.map(({ name }) => name)
  assert.deepEqual(
    [names('a'), names('b')],
    [
      ['rules.0', 'mine'],
      ['mine', 'rules.2'],
    ],
  )
})
