import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindByPort, kindNames, kinds, portRule } from './kinds.ts'

const options = { settledAgeMs: 1, maxBuckets: 1, ignoredContext: [], sqlTimeZone: 'UTC' }

for (const name of kindNames) {
  test(`${name}: what is known without its backend is what the backend says`, async () => {
    const kind = kinds[name]
    const backend = (await kind.load())(options)
    assert.equal(backend.name, name)
    assert.equal(backend.flavourPath, kind.flavourPath)
    assert.deepEqual(backend.readFlavour(404, ''), kind.readFlavour(404, ''))
    for (const body of ['', '{"query":"SELECT 1"}', '{"queryType":"topN"}']) {
      assert.ok(backend.claims('POST', kind.queryPath(body)), body)
    }
  })
}

test('by its port a database is Druid, VictoriaMetrics, or else Prometheus', () => {
  for (const url of ['http://a:8082', 'https://a:8888/', 'http://[::1]:8888/druid']) {
    assert.equal(kindByPort(url), 'druid', url)
  }
  for (const url of ['http://a:8428', 'https://a:8481/select/0/prometheus']) {
    assert.equal(kindByPort(url), 'victoriametrics', url)
  }
  for (const url of [
    'http://a',
    'https://a',
    'http://a:9090',
    'http://8888',
    'http://a/8888',
    'http://a:88',
  ]) {
    assert.equal(kindByPort(url), 'prometheus', url)
  }
  assert.equal(
    portRule,
    'ports 8428 and 8481 mean victoriametrics, ports 8082 and 8888 mean druid, all others prometheus',
  )
})

test('the body of a query of Druid says for which path it is meant', () => {
  const { queryPath } = kinds.druid
  assert.equal(queryPath('{"query":"SELECT 1"}'), '/druid/v2/sql')
  const native = ['{"queryType":"timeseries"}', '{"queryType":"x","query":1}', '', '[]', 'null', '{', '5']
  for (const body of native) assert.equal(queryPath(body), '/druid/v2', body)
})

test('clients are told what to type, also with TLS, a path and several databases', () => {
  assert.deepEqual(kinds.druid.clientLines({ url: 'https://h:9191/events', which: ' of events' }), [
    'In Grafana, set the URL of the Druid data source of events to https://h:9191/events',
    'In Superset, set the SQLAlchemy URI of the database of events to druid+https://h:9191/events/druid/v2/sql/',
  ])
  assert.match(
    kinds.druid.clientLines({ url: 'http://h:1', which: '' })[1]!,
    / druid:\/\/h:1\/druid\/v2\/sql\/$/,
  )
})
