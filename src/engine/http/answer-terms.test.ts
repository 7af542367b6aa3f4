import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { UnstoredReason } from '../../core/decision.ts'
import { headerOf } from '../../core/headers.ts'
import { type ClientIdentity, termsOf } from './answer-terms.ts'
import { type Identity, identityOf, isKeyed } from './identity.ts'

const now = Date.UTC(2026, 0, 1)
const anybody: ClientIdentity = { headers: [], partition: 'separate', encodingHeaders: [] }
const anna: ClientIdentity = { ...anybody, headers: ['authorization', 'Bearer anna'] }

/** `no_store`, or the limits: `60 s`, `60 s strict`, `any`, `any strict`. */
function verdict(headers: readonly string[], client: ClientIdentity = anybody): string {
  const { forbidden, limits } = termsOf(headers, client, now)
  if (forbidden !== undefined) return forbidden.reason
  const seconds = limits.seconds === Number.POSITIVE_INFINITY ? 'any' : `${limits.seconds} s`
  return limits.mustRevalidate ? `${seconds} strict` : seconds
}

const date = (ms: number): string => new Date(now + ms).toUTCString()

const byCacheControl: Record<string, string> = {
  '': 'any',
  public: 'any',
  'max-age=60': '60 s',
  'MAX-AGE=60': '60 s',
  'max-age="60"': '60 s',
  'public ,, max-age=060,': '60 s',
  'max-age=60, max-age=60': '60 s',
  'max-age=99999999999': '99999999999 s',
  'max-age=60, s-maxage=10': '10 s strict',
  's-maxage=600, max-age=0': '600 s strict',
  'must-revalidate': 'any strict',
  'max-age=5, Proxy-Revalidate': '5 s strict',
  'stale-while-revalidate=60, immutable, must-understand, x="no-store"': 'any',
  'no-store': 'no_store',
  'No-Store="x"': 'no_store',
  'max-age=60,no-store': 'no_store',
  'no-store, must-understand': 'no_store',
  'no-transform': 'no_store',
  'no-cache': 'no_cache',
  'no-cache="set-cookie"': 'no_cache',
  'max-age=0': 'no_cache',
  'max-age=00': 'no_cache',
  's-maxage=0, max-age=60': 'no_cache',
  private: 'private',
  'PRIVATE="x-team, x-user", max-age=60': 'private',
  'no-storex, xno-cache, privat': 'any',
  'x="a, no-store, \\", no-cache"': 'any',
  'max-age': 'malformed_cache_headers',
  'max-age=': 'malformed_cache_headers',
  'max-age=-1': 'malformed_cache_headers',
  'max-age=1.5': 'malformed_cache_headers',
  'max-age=abc': 'malformed_cache_headers',
  'max-age=0x10': 'malformed_cache_headers',
  'max-age = 60': 'malformed_cache_headers',
  'max-age=60; s-maxage=5': 'malformed_cache_headers',
  'max-age=60, max-age=61': 'malformed_cache_headers',
  's-maxage=abc, max-age=60': 'malformed_cache_headers',
  'public, x="': 'malformed_cache_headers',
  'x="unclosed, no-store': 'malformed_cache_headers',
  'public private': 'malformed_cache_headers',
  '"no-store"': 'malformed_cache_headers',
}

for (const [text, expected] of Object.entries(byCacheControl)) {
  test(`Cache-Control: ${text} → ${expected}`, () => {
    assert.equal(verdict(['Cache-Control', text]), expected)
  })
}

test('the lines of one header count together', () => {
  assert.equal(verdict(['cache-control', 'public', 'x', 'y', 'Cache-Control', 'no-store']), 'no_store')
  assert.equal(verdict(['Vary', 'Origin', 'VARY', 'X-Team']), 'vary')
})

test('private answers are stored only for one account', () => {
  const cases: [ClientIdentity['headers'], ClientIdentity['partition'], string][] = [
    [['authorization', 'Bearer anna'], 'separate', 'any'],
    [['x-grafana-user', 'anna'], 'separate', 'any'],
    [['x-grafana-user', 'anna'], 'user', 'any'],
    [['authorization', 'Bearer anna'], { headers: ['authorization'] }, 'any'],
    [['authorization', 'Bearer anna'], 'shared', 'private'],
    [['authorization', 'Bearer anna'], { headers: ['x-team'] }, 'private'],
    [['authorization', 'Bearer anna', 'x-grafana-user', 'anna'], 'user', 'any'],
    [['authorization', ''], 'separate', 'private'],
    [['x-scope-orgid', 'one tenant'], 'separate', 'private'],
    [['cookie', 'theme=dark'], 'separate', 'private'],
    [['origin', 'http://grafana'], 'separate', 'private'],
    [[], 'separate', 'private'],
  ]
  for (const [headers, partition, expected] of cases) {
    const client = { ...anybody, headers, partition }
    assert.equal(
      verdict(['Cache-Control', 'private'], client),
      expected,
      JSON.stringify([headers, partition]),
    )
  }
})

test('Vary is met by the key, or the answer is not stored', () => {
  const cases: [string, Partial<ClientIdentity>, string][] = [
    ['', {}, 'any'],
    [' , ,', {}, 'any'],
    ['Accept-Encoding', {}, 'any'],
    ['accept-encoding,ORIGIN', {}, 'any'],
    ['Origin', { partition: 'shared' }, 'any'],
    ['Authorization, Cookie', {}, 'any'],
    ['Authorization', { partition: 'shared' }, 'vary'],
    ['Cookie', { partition: { headers: ['x-team'] } }, 'vary'],
    ['X-Team', { partition: { headers: ['x-team'] } }, 'any'],
    ['X-Team', {}, 'vary'],
    ['X-Grafana-User', { partition: 'user', headers: ['x-grafana-user', 'anna'] }, 'any'],
    ['Authorization', { partition: 'user', headers: ['x-grafana-user', 'anna'] }, 'vary'],
    ['Authorization', { partition: 'user' }, 'any'],
    ['User-Agent', {}, 'vary'],
    ['Accept-Encoding, User-Agent', { encodingHeaders: ['user-agent'] }, 'any'],
    ['*', {}, 'vary'],
    ['*', { partition: { headers: ['*'] } }, 'vary'],
    ['Origin, *', {}, 'vary'],
    ['Origin;Accept', {}, 'malformed_cache_headers'],
    ['"Origin"', {}, 'malformed_cache_headers'],
    ['Accept Encoding', {}, 'malformed_cache_headers'],
  ]
  for (const [vary, client, expected] of cases) {
    assert.equal(verdict(['Vary', vary], { ...anybody, ...client }), expected, JSON.stringify([vary, client]))
  }
})

test('the age of an answer on arrival is part of its lifetime', () => {
  assert.equal(verdict(['Cache-Control', 'max-age=60', 'Age', '7']), '53 s')
  assert.equal(verdict(['Cache-Control', 'max-age=60', 'Age', '7', 'Age', '9']), '53 s')
  assert.equal(verdict(['Cache-Control', 'max-age=60', 'Age', '60']), 'no_cache')
  assert.equal(verdict(['Cache-Control', 'max-age=60', 'Age', 'old']), 'malformed_cache_headers')
  assert.equal(verdict(['Age', 'old']), 'any')
})

test('Expires counts where no directive sets a lifetime, by the database’s own clock', () => {
  assert.equal(verdict(['Expires', date(60_000), 'Date', date(0)]), '60 s')
  assert.equal(verdict(['Expires', date(60_000)]), '60 s')
  assert.equal(verdict(['Expires', date(3_660_000), 'Date', date(3_600_000)]), '60 s')
  assert.equal(verdict(['Expires', date(60_000), 'Date', 'two, of them']), '60 s')
  assert.equal(verdict(['Expires', date(60_000), 'Cache-Control', 'public']), '60 s')
  assert.equal(verdict(['Expires', date(0), 'Cache-Control', 'max-age=60']), '60 s')
  for (const past of [date(0), date(-1000), '0', '-1', '', 'tomorrow', `${date(60_000)}, ${date(60_000)}`]) {
    assert.equal(verdict(['Expires', past]), 'no_cache', past)
  }
  assert.equal(verdict(['Expires', 'Thursday, 01-Jan-26 00:01:00 GMT']), '60 s')
  assert.equal(verdict(['Expires', 'Thu Jan  1 00:01:00 2026']), '60 s')
})

test('Pragma counts only where there is no Cache-Control', () => {
  assert.equal(verdict(['Pragma', 'No-Cache']), 'no_cache')
  assert.equal(verdict(['Pragma', 'x']), 'any')
  assert.equal(verdict(['Pragma', 'no-cache', 'Cache-Control', 'max-age=60']), '60 s')
})

test('the header that forbids it is named', () => {
  const headers = ['cache-control', 'max-age=5', 'Age', '7', 'Vary', 'Origin']
  assert.equal(termsOf(headers, anybody, now).forbidden?.detail, 'Cache-Control: max-age=5; Age: 7')
  assert.equal(termsOf(['vary', 'X-Team'], anybody, now).forbidden?.detail, 'Vary: X-Team')
})

test('a header of many thousand characters is read in no time', () => {
  for (const part of [' ', '\t', ',', 'a', 'a=', '"', '\\', '="', 'a,', ' ,']) {
    const text = `x="${part.repeat(16_000)}`
    for (const value of [text, part.repeat(16_000)]) {
      const began = process.cpuUsage()
      termsOf(['Cache-Control', value, 'Vary', value, 'Age', value, 'Expires', value], anybody, now)
      assert.ok(process.cpuUsage(began).user < 200_000, JSON.stringify(part))
    }
  }
})

/** A second, plainer reading of the RFC, for the headers of the generator below. */
interface Said {
  readonly directives: readonly { readonly name: string; readonly value?: number }[]
  readonly vary: readonly string[]
  readonly age?: number | undefined
  readonly client: ClientIdentity
}

function permitted({ directives, vary, age = 0, client }: Said): boolean {
  const has = (name: string) => directives.some((each) => each.name === name)
  const values = (name: string) => directives.filter((each) => each.name === name).map(({ value }) => value)
  // §5.2.2.4, §5.2.2.5, §5.2.2.6
  if (has('no-cache') || has('no-store') || has('no-transform')) return false
  // §5.2.2.7: only a partition of one account is a private cache.
  if (has('private') && client !== anna) return false
  // §4.1: headers that select the answer must be in the key.
  const inKey = ['accept-encoding', 'origin', 'authorization', 'cookie']
  if (!vary.every((name) => inKey.includes(name))) return false
  // §4.2.1: contradicting lifetimes make it stale; s-maxage comes before max-age.
  for (const name of ['max-age', 's-maxage']) if (new Set(values(name)).size > 1) return false
  const lifetime = values('s-maxage')[0] ?? values('max-age')[0] ?? Number.POSITIVE_INFINITY
  return lifetime > age
}

function lifetimeOf({ directives, age = 0 }: Said): number {
  const value = (name: string) => directives.find((each) => each.name === name)?.value
  return (value('s-maxage') ?? value('max-age') ?? Number.POSITIVE_INFINITY) - age
}

const plain = { noNullPrototype: true }
const lifetimes = fc.record({ name: fc.constantFrom('max-age', 's-maxage'), value: fc.nat(3) }, plain)
const flags = fc.record(
  {
    name: fc.constantFrom(
      ...['no-store', 'no-cache', 'private', 'no-transform', 'public', 'must-revalidate', 'x-other'],
    ),
  },
  plain,
)
const asked = fc.record(
  {
    directives: fc.array(fc.oneof(flags, lifetimes), { maxLength: 3 }),
    vary: fc.uniqueArray(fc.constantFrom('accept-encoding', 'origin', 'cookie', 'x-team', 'accept', '*')),
    age: fc.option(fc.nat(3), { nil: undefined }),
    client: fc.constantFrom(anna, anybody),
  },
  plain,
)
/** How a header is written: in which case, quoted or not, with which space, on how many lines. */
const style = fc.record(
  {
    isUpper: fc.boolean(),
    isQuoted: fc.boolean(),
    comma: fc.constantFrom(',', ', ', ' ,\t', ',,'),
    lines: fc.nat(2),
  },
  plain,
)

interface Style {
  readonly isUpper: boolean
  readonly isQuoted: boolean
  readonly comma: string
  readonly lines: number
}

function written(name: string, parts: readonly string[], { isUpper, comma, lines }: Style): string[] {
  if (parts.length === 0) return []
  const cased = parts.map((part) => (isUpper ? part.toUpperCase() : part))
  const first = cased.slice(0, lines)
  const both = [first, cased.slice(first.length)].filter((line) => line.length > 0)
  return both.flatMap((line) => [name, line.join(comma)])
}

test('for any headers the verdict is that of a plain reading of the RFC', () => {
  fc.assert(
    fc.property(asked, style, (said, how) => {
      const directives = said.directives.map(({ name, value }: Said['directives'][number]) =>
        value === undefined ? name : how.isQuoted ? `${name}="${value}"` : `${name}=${value}`,
      )
      const headers = [
        ...written('Cache-Control', directives, how),
        ...written('Vary', said.vary, how),
        ...(said.age === undefined ? [] : ['Age', String(said.age)]),
      ]
      const { forbidden, limits } = termsOf(headers, said.client, now)
      assert.equal(forbidden === undefined, permitted(said), JSON.stringify(headers))
      if (forbidden === undefined && limits.seconds !== Number.POSITIVE_INFINITY)
        assert.equal(limits.seconds, lifetimeOf(said))
      if (forbidden === undefined && limits.seconds === Number.POSITIVE_INFINITY)
        assert.equal(lifetimeOf(said), Number.POSITIVE_INFINITY)
    }),
    { numRuns: 2000 },
  )
})

test('no header whatsoever makes it throw', () => {
  const reasons: (UnstoredReason | undefined)[] = ['no_store', 'no_cache', 'private', 'vary']
  reasons.push('malformed_cache_headers', undefined)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (one, other) => {
      const headers = ['Cache-Control', one, 'Vary', other, 'Age', one, 'Expires', other, 'Pragma', one]
      assert.ok(reasons.includes(termsOf(headers, anybody, now).forbidden?.reason))
    }),
  )
})

const names = ['authorization', 'cookie', 'origin', 'x-grafana-user', 'x-team', 'x-scope-orgid']
const partitions = fc.constantFrom<Identity>(
  ...(['separate', 'shared', 'user', { headers: ['x-team'] }, { headers: ['authorization'] }] as const),
)
const requests = fc
  .record(
    {
      values: fc.dictionary(fc.constantFrom(...names), fc.constantFrom('1', '2'), { maxKeys: 3, ...plain }),
      partition: partitions,
    },
    plain,
  )
  .map(({ values, partition }) => ({
    headers: names.flatMap((name) => (values[name] === undefined ? [] : [name, values[name]])),
    partition,
  }))

test('requests with the same key agree in every header that the key covers, whatever rule led there', () => {
  fc.assert(
    fc.property(requests, requests, (one, other) => {
      if (identityOf(one.headers, one.partition) !== identityOf(other.headers, other.partition)) return
      for (const name of names) {
        if (!isKeyed(name, one.headers, one.partition)) continue
        const message = JSON.stringify([one, other, name])
        assert.equal(headerOf(one.headers, name), headerOf(other.headers, name), message)
      }
    }),
    { numRuns: 5000 },
  )
})
