import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kinds } from '../backends/kinds.ts'
import { type Check, key, nested, type Section, section } from './definition.ts'
import { databaseUrl, exceptionsAreOfItsKind, keysAreOfItsKind, kindKeys } from './kind-keys.ts'
import { objectsSection } from './objects-section.ts'
import { Reader } from './read.ts'
import { choice } from './scalars.ts'
import { byDefault } from './source.ts'
import { text } from './text-scalars.ts'
import { parseYaml } from './yaml.ts'

const made = section({ colour: key(text, 'grey', { meaning: 'of the lines' }) })
const all = { ...kinds, third: { label: 'Third', section: made } }
const type = key(choice('auto', ...Object.keys(all)), 'auto', { meaning: 'the kind of database' })
const objects = nested(objectsSection(all), 'answers that are cached as a whole')
const backend = section({ type, objects, ...kindKeys(all) }, { checks: [keysAreOfItsKind(all)] })

/** The mistakes in a backend of this text: paths and messages. */
function problemsIn(yaml: string, type: Section = backend): string[] {
  const reader = new Reader(() => [])
  reader.read(type, parseYaml(yaml, () => byDefault).raw, '')
  return reader.problems.map(({ path, message }) => `${path} ${message}`)
}

test('a third kind does not take the keys of Druid', () => {
  const yaml =
    '{ type: third, colour: red, ignoreContext: [team], sqlTimeZone: Europe/Berlin, segments: { watch: true, every: 5s } }'
  const why = 'has an effect only with Druid, and this is Third'
  assert.deepEqual(problemsIn(yaml), [
    `ignoreContext ${why}`,
    `sqlTimeZone ${why}`,
    `segments.watch ${why}`,
    `segments.every ${why}`,
  ])
})

test('no other kind takes the keys of a third one', () => {
  const why = (label: string) => [`colour has an effect only with Third, and this is ${label}`]
  assert.deepEqual(problemsIn('{ type: druid, colour: red, ignoreContext: [team] }'), why('Druid'))
  assert.deepEqual(problemsIn('{ type: prometheus, colour: red }'), why('Prometheus'))
})

test('before the kind of a database is known, every key of every kind can be written', () => {
  assert.deepEqual(problemsIn('{ colour: red, ignoreContext: [team] }'), [])
})

test('a key of another kind with its default value is no mistake', () => {
  const yaml = '{ type: third, ignoreContext: [], sqlTimeZone: UTC, segments: { watch: false, every: 10s } }'
  assert.deepEqual(problemsIn(yaml), [])
})

test('kinds that share a section own its keys', () => {
  const why = (owner: string, label: string) => `has an effect only with ${owner}, and this is ${label}`
  assert.deepEqual(problemsIn('{ type: thanos, assume: prometheus }'), [
    `assume.server ${why('Prometheus', 'Thanos')}`,
  ])
  assert.deepEqual(problemsIn('{ type: prometheus, assume: { mergedLabels: true, replicas: true } }'), [
    `assume.replicas ${why('Thanos', 'Prometheus')}`,
  ])
  assert.deepEqual(problemsIn('{ type: druid, assume: { server: prometheus, replicas: true } }'), [
    `assume.server ${why('Prometheus', 'Druid')}`,
    `assume.replicas ${why('Thanos', 'Druid')}`,
  ])
  assert.deepEqual(problemsIn('{ type: thanos, assume: { replicas: true } }'), [])
  assert.deepEqual(problemsIn('{ assume: { server: prometheus, replicas: true } }'), [])
})

test('the endpoints of a kind are not taken for another', () => {
  const endpoints = (type: string, given: string) =>
    problemsIn(`{ type: ${type}, objects: { endpoints: ${given} } }`)
  const topN = 'objects.endpoints.topN.enabled has an effect only with Druid, and this is'
  assert.deepEqual(endpoints('prometheus', '{ topN: { enabled: false } }'), [`${topN} Prometheus`])
  assert.deepEqual(endpoints('third', '{ topN: { enabled: false } }'), [`${topN} Third`])
  const [labels, ...more] = endpoints('druid', '{ labels: { revalidate: 5s }, topN: { revalidate: 5s } }')
  assert.match(
    labels!,
    /^objects\.endpoints\.labels\.revalidate .* only with Prometheus, .* and M3, and this is Druid$/,
  )
  assert.deepEqual(more, [])
  assert.deepEqual(endpoints('prometheus', '{ topN: { enabled: true }, labels: { enabled: false } }'), [])
  assert.deepEqual(endpoints('auto', '{ topN: { enabled: false }, labels: { enabled: false } }'), [])
})

test('a section that kinds share has the checks of each, and refuses what each refuses', () => {
  const sharing = (name: string) => {
    const check: Check = { needs: [name], run: (_, report) => report(name, 'is checked') }
    const keys = { [name]: key(text, 'usual', { meaning: 'of one kind' }) }
    const shared = section(keys, { checks: [check, always], refused: { [`no-${name}`]: 'is refused' } })
    return { label: name, section: section({ shared: nested(shared, 'of both kinds') }) }
  }
  const always: Check = { needs: [], run: (_, report) => report('both', 'is checked once') }
  const both = section(kindKeys({ first: sharing('first'), second: sharing('second') }))
  assert.deepEqual(problemsIn('{ shared: { no-first: a, no-second: b } }', both), [
    'shared.no-first is refused',
    'shared.no-second is refused',
    'shared.first is checked',
    'shared.both is checked once',
    'shared.second is checked',
  ])
})

test('an address as clients of some kind write it is taken for the URL of its database', () => {
  const third = { urlIn: (text: string) => /^third:(.*)$/.exec(text)?.[1] }
  const { guess } = databaseUrl({ ...kinds, third })
  assert.equal(guess!('third:http://a:1'), 'http://a:1')
  assert.equal(guess!('druid://router:8888/druid/v2/sql/'), 'http://router:8888')
  assert.equal(guess!('druid+https://router/druid/v2/sql/'), 'https://router')
  assert.equal(guess!('a/b'), 'http://a/b')
  for (const neither of ['other://a', 'druids://a', 'druid+http', 5]) assert.equal(guess!(neither), undefined)
})

test('an exception is refused with a kind that does not support it, and only if it is switched on', () => {
  const check = exceptionsAreOfItsKind(kinds)
  const problems = (type: string, edges: string, align: boolean, withinMs = 0): string[] => {
    const reported: string[] = []
    const values = { type, edges, align, instant: { withinMs } }
    check.run(values as never, (path, message) => void reported.push(`${path} ${message}`))
    return reported
  }
  assert.deepEqual(problems('druid', 'whole', false), [])
  assert.deepEqual(problems('prometheus', 'exact', true), [])
  assert.deepEqual(problems('auto', 'now', true), [])
  assert.deepEqual(problems('prometheus', 'now', false), [
    'edges has an effect only with Druid, and this is Prometheus',
  ])
  const [align] = problems('druid', 'exact', true)
  assert.match(align!, /^align has an effect only with Prometheus, .* and M3, and this is Druid$/)
  const [instant] = problems('druid', 'exact', false, 1)
  assert.match(instant!, /^instant\.within has an effect only with Prometheus, .* and M3, and this is Druid$/)
  for (const type of ['auto', 'prometheus', 'm3']) assert.deepEqual(problems(type, 'exact', false, 1), [])
})
