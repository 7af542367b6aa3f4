import assert from 'node:assert/strict'
import { test } from 'node:test'
import { termsFor } from '../proxy/request/settings.ts'
import { type LoadedConfig, loadConfig } from './load.ts'
import { type DatabaseParts, databasesOf, settingsOf } from './settings.ts'

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

const withCap = (cap: string) => {
  const text = `backends: { main: { url: 'http://a' } }
policies: { default: { type: ladder, floor: 5s, doubling: 1m, cap: ${cap} } }
`
  return (loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(text) } }) as LoadedConfig).config
}

test('an @ modifier may point to settled data under the policy in force, also after a reload', async () => {
  let settings = settingsOf(withCap('1h'))
  const parts: DatabaseParts = { kindOf: () => 'prometheus', settings: () => settings }
  const [database] = await databasesOf(withCap('1h'), parts)
  const { backend } = database!
  const now = Date.UTC(2026, 0, 1)
  const search = new URLSearchParams({
    query: `up @ ${now / 1000 - 12 * 60}`,
    ...{ start: String(now / 1000 - 3600), end: String(now / 1000), step: '60' },
  })
  const request = {
    ...{ method: 'GET', path: '/api/v1/query_range', search: search.toString() },
    ...{ headers: [], body: Buffer.alloc(0) },
  }
  const bypass = () => {
    const plan = backend.plan(backend.parse(request) as object, now, undefined)
    return 'bypass' in plan ? plan.bypass : undefined
  }
  assert.equal(bypass(), undefined)
  settings = settingsOf(withCap('24h'))
  assert.equal(bypass(), 'recent_at_modifier')
  settings = settingsOf(withCap('1h'))
  assert.equal(bypass(), undefined)
})

test('exceptions are those of the backend, or of the first rule that matches', () => {
  const text = `backends:
  main: { url: 'http://a', type: druid, edges: now }
rules:
  - { match: { query: { contains: daily } }, edges: whole }
  - { match: { query: { contains: exact } }, edges: exact, align: true }
`
  const { config } = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(text) } }) as LoadedConfig
  const settings = settingsOf(config).get('main')!
  const exceptions = (query: string) => {
    const { edges, align } = termsFor(settings, { path: '/', headers: [], query })
    return [edges, align]
  }
  assert.deepEqual(exceptions('other'), ['now', false])
  assert.deepEqual(exceptions('daily'), ['whole', false])
  assert.deepEqual(exceptions('exact'), ['exact', true])
})
