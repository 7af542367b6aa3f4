import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kinds } from '../backends/kinds.ts'
import { loadConfig } from './load.ts'
import { objectWarnings } from './objects-section.ts'
import type { Config } from './schema.ts'
import { settingsOf } from './settings.ts'

function configOf(text: string): Config {
  const bytes = Buffer.from(`backends: { main: { url: http://a, ${text} } }`)
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes } })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return loaded.config
}

test('written terms become seconds; absent ones default to the backend’s', () => {
  const text = `objects: { endpoints: { labels: { revalidate: 5m }, rules: { enabled: false } }, paths: [{ path: /x* }] }, instant: { within: 5s }`
  const { whole } = settingsOf(configOf(text)).get('main')!
  const { labels, rules } = whole!.endpoints
  assert.deepEqual([labels!.revalidateSeconds, labels!.staleIfErrorSeconds], [300, undefined])
  assert.equal(rules!.enabled, false)
  assert.deepEqual([whole!.paths[0]!.path, whole!.instantWithinMs], ['/x*', 5_000])
  assert.equal(settingsOf(configOf('objects: { enabled: false }')).get('main')!.whole, undefined)
})

test('a retention of less than ten times the time that an answer is fresh is warned of', () => {
  const warnings = (text: string) => objectWarnings(configOf(text).backends, kinds)
  assert.deepEqual(warnings('mode: on'), [])
  assert.deepEqual(warnings('objects: { endpoints: { labels: { retention: 10m } } }'), [])
  assert.match(
    warnings('objects: { endpoints: { labels: { retention: 9m } } }')[0]!,
    /^backends\.main\.objects\.endpoints\.labels\.retention is less than 10 times revalidate \(1m\)/,
  )
  assert.match(
    warnings('objects: { paths: [{ path: /x, revalidate: 1h, retention: 2h }] }')[0]!,
    /^backends\.main\.objects\.paths\.0\.retention is less than 10 times/,
  )
})
