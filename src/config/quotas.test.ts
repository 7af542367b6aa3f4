import assert from 'node:assert/strict'
import test from 'node:test'
import { loadConfig } from './load.ts'
import { settingsOf } from './settings.ts'

const load = (quotas: string, more = '') =>
  loadConfig({
    file: {
      name: 'w.yaml',
      bytes: Buffer.from(
        `backends: { main: { url: "http://a:9090" }, other: { url: "http://b:9090", listen: "127.0.0.1:1" } }\n${more}quotas: ${quotas}\n`,
      ),
    },
  })

function quotaOf(quotas: string, more?: string) {
  const loaded = load(quotas, more)
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return settingsOf(loaded.config).get('main')!.quota
}

function problemIn(quotas: string): string {
  const loaded = load(quotas)
  assert.ok('problems' in loaded)
  return loaded.problems
    .map(({ path, message, suggestion }) => `${path}: ${message} ${suggestion ?? ''}`.trim())
    .join('\n')
}

const requests = '{ name: requests, capacity: 600, refill: 100, every: 1m }'

test('without limits no client is limited', () => {
  assert.equal(quotaOf('{}'), undefined)
  assert.equal(quotaOf('{ dryRun: true }'), undefined)
})

test('a store of their own is enough: limits can be set there while running', () => {
  assert.ok(quotaOf('{ store: shared }', 'stores: { shared: { url: "redis://r:6379" } }\n'))
})

test('limits are read as a human writes them', () => {
  const quota = quotaOf(
    `{ entity: "header:X-Scope-OrgID", limits: [${requests}, { name: cost, capacity: 86400, every: 1d }] }`,
  )
  assert.deepEqual(quota?.entity, { header: 'x-scope-orgid' })
  assert.deepEqual(quota?.base.system, [
    { name: 'requests', capacity: 600, refillAmount: 100, refillPeriodSeconds: 60 },
    { name: 'cost', capacity: 86_400, refillAmount: 86_400, refillPeriodSeconds: 86_400 },
  ])
  assert.equal(quota?.onUnavailable, 'allow')
})

test('a backend may have limits of its own', () => {
  const quota = quotaOf(`{ resources: { other: [${requests}] } }`)
  assert.deepEqual([...quota!.base.resources!.keys()], ['other'])
})

test('mistakes are refused with a sentence', () => {
  assert.match(
    problemIn(`{ resources: { mian: [${requests}] } }`),
    /^quotas\.resources\.mian: there is no backends\.mian; expected one of main, other/,
  )
  assert.match(
    problemIn(`{ limits: [${requests}, ${requests}] }`),
    /^quotas\.limits: Two limits have the name "requests"/,
  )
  assert.match(
    problemIn('{ limits: [{ name: requests, capacity: 5, every: 1500ms }] }'),
    /every: is not a whole number of seconds/,
  )
  assert.match(problemIn('{ limits: [{ name: "a b", capacity: 5 }] }'), /name: expected the name of a limit/)
  assert.match(problemIn('{ limits: [{ name: requests }] }'), /capacity: is missing/)
  assert.match(
    problemIn('{ limits: [{ name: requests, capacity: 1000000000000, refill: 1, every: 365d }] }'),
    /limits: .*requests/,
  )
  assert.match(
    problemIn('{ entity: X-Scope-OrgID }'),
    /entity: expected identity, address or header:NAME.*header:X-Scope-OrgID/,
  )
  assert.match(problemIn('{ store: nowhere }'), /store: there is no stores\.nowhere/)
})
