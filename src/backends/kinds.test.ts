import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { type Key, type Keys, key, nested, section } from '../config/definition.ts'
import { bool } from '../config/scalars.ts'
import { planningReasons, servingReasons } from '../core/decision.ts'
import type { Backend, Bypass } from './backend.ts'
import type { DatabaseKind } from './kind.ts'
import { bypassReasons, type KindName, kindByPort, kindNames, kinds, portRule } from './kinds.ts'

const segments = { watch: false, everyMs: 1, patienceMs: 2, maxAgeMs: 3 }

/** With the defaults of its section. */
async function created(name: KindName): Promise<Backend> {
  const kind: DatabaseKind = kinds[name]
  const assume = { mergedLabels: false, replicas: false, comparisons: 1 }
  const own = { ignoreContext: [], sqlTimeZone: 'UTC', segments, assume, settledAgeMs: 0 }
  return (await kind.load()).create({ settledAgeMs: 1, maxBuckets: 1 }, own).backend
}

for (const name of kindNames) {
  test(`${name}: the declarations of the kind equal those of its backend`, async () => {
    const kind = kinds[name]
    const backend = await created(name)
    assert.equal(backend.name, name)
    assert.equal(backend.flavour, kind.flavour)
    for (const body of ['', '{"query":"SELECT 1"}', '{"queryType":"topN"}']) {
      assert.ok(backend.claims('POST', kind.explain.queryPath(body)), body)
    }
  })
}

test('by its port a database is of the kind that uses it, or else Prometheus', () => {
  for (const url of ['http://a:8082', 'https://a:8888/', 'http://[::1]:8888/druid']) {
    assert.equal(kindByPort(url), 'druid', url)
  }
  for (const url of ['http://a:8428', 'https://a:8481/select/0/prometheus']) {
    assert.equal(kindByPort(url), 'victoriametrics', url)
  }
  assert.equal(kindByPort('http://a:9009/prometheus'), 'mimir')
  assert.equal(kindByPort('http://a:10902'), 'thanos')
  assert.equal(kindByPort('http://a:7201'), 'm3')
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
    'ports 8428 and 8481 mean victoriametrics, port 9009 means mimir, ports 8082 and 8888 mean druid, port 10902 means thanos, port 7201 means m3, all others prometheus',
  )
})

test('the body of a Druid query determines its path', () => {
  const { queryPath } = kinds.druid.explain
  assert.equal(queryPath('{"query":"SELECT 1"}'), '/druid/v2/sql')
  const native = ['{"queryType":"timeseries"}', '{"queryType":"x","query":1}', '', '[]', 'null', '{', '5']
  for (const body of native) assert.equal(queryPath(body), '/druid/v2', body)
})

test('clients get the address to type, also with TLS, a path and several databases', () => {
  assert.deepEqual(kinds.druid.clientLines({ url: 'https://h:9191/events', which: ' of events' }), [
    'In Grafana, set the URL of the Druid data source of events to https://h:9191/events',
    'In Superset, set the SQLAlchemy URI of the database of events to druid+https://h:9191/events/druid/v2/sql/',
  ])
  assert.match(
    kinds.druid.clientLines({ url: 'http://h:1', which: '' })[1]!,
    / druid:\/\/h:1\/druid\/v2\/sql\/$/,
  )
})

test('every reason has a meaning and a remedy, and is documented', async () => {
  const page = await readFile('docs/reference/outcomes.md', 'utf8')
  for (const [reason, { meaning, remedy }] of Object.entries(bypassReasons)) {
    assert.ok(page.includes(`| \`${reason}\` | ${meaning} |\n`), reason)
    assert.match(remedy, /^[A-Z].*\.$|^windowpane .*\.$/, reason)
  }
})

const guides = {
  victoriametrics: 'victoriametrics',
  family: 'mimir',
  druid: 'druid',
  superset: 'druid',
} as const

test('the guide of a database names only reasons that the database can have', async () => {
  for (const [page, kind] of Object.entries(guides)) {
    const text = await readFile(`docs/guide/${page}.md`, 'utf8')
    const named = [...text.matchAll(/`(\w+)`/g)].flatMap(([, word]) => word!)
    const reasons = named.filter((word) => Object.hasOwn(bypassReasons, word))
    const possible = { ...planningReasons, ...servingReasons, ...kinds[kind].reasons }
    assert.ok(reasons.length > 0, page)
    assert.deepEqual(
      reasons.filter((reason) => !Object.hasOwn(possible, reason)),
      [],
      page,
    )
  }
})

test('the reasons of kinds are in the closed list, and one word has one declaration', () => {
  const general = { ...planningReasons, ...servingReasons }
  for (const name of kindNames) {
    const { reasons }: DatabaseKind = kinds[name]
    for (const [reason, words] of Object.entries(reasons)) {
      assert.ok(!Object.hasOwn(general, reason), `${reason} of ${name} is a general one`)
      assert.equal(bypassReasons[reason as keyof typeof bypassReasons], words, `${reason} of ${name}`)
    }
  }
})

test('a backend explains exactly the reasons of its kind', async () => {
  for (const name of kindNames) {
    const backend = await created(name)
    assert.equal(backend.presentation?.reasons, kinds[name].reasons)
  }
})

test('a backend cannot give the reason of another database', () => {
  const general: Bypass = { bypass: 'too_many_buckets' }
  const own: Bypass<'sorting'> = { bypass: 'sorting' }
  // @ts-expect-error: Druid declares it, and this backend does not.
  const others: Bypass<'sorting'> = { bypass: 'not_decomposable' }
  assert.equal(new Set([general, own, others].map(({ bypass }) => bypass)).size, 3)
})

const leaves = (keys: Keys, above = ''): [path: string, key: Key][] =>
  Object.entries(keys).flatMap(([name, key]) =>
    key.type.kind === 'section' ? leaves(key.type.keys, `${above}${name}.`) : [[above + name, key]],
  )

/** Paths that several kinds declare, each in its own way: as other keys, or one as a value and one as a section. */
function clashesOf(sections: readonly Keys[]): string[] {
  const declared = sections.flatMap((keys) => leaves(keys))
  const clashes = declared.flatMap(([path, key]) =>
    declared.filter(([other, each]) => (other === path ? each !== key : other.startsWith(`${path}.`))),
  )
  return [...new Set(clashes.map(([path]) => path))]
}

test('kinds share the name of a configuration key only by one declaration', () => {
  assert.deepEqual(clashesOf(kindNames.map((name) => kinds[name].section.keys)), [])
  const flag = () => key(bool, false, { meaning: 'a flag' })
  const [shared, other] = [flag(), flag()]
  const below = (keys: Keys) => nested(section(keys), 'a section')
  assert.deepEqual(
    clashesOf([
      { shared, other },
      { shared, others: other },
    ]),
    [],
  )
  assert.deepEqual(clashesOf([{ shared }, { shared: other }]), ['shared'])
  assert.deepEqual(clashesOf([{ assume: below({ shared }) }, { assume: below({ shared: other }) }]), [
    'assume.shared',
  ])
  for (const both of [
    [{ assume: shared }, { assume: below({ other }) }],
    [{ assume: below({ other }) }, { assume: shared }],
  ])
    assert.deepEqual(clashesOf(both), ['assume.other'])
})
