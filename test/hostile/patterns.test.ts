/** Regular expressions of rules against texts that make backtracking engines take exponential or quadratic time. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { Pattern } from '../../src/config/pattern.ts'
import { settingsOf } from '../../src/config/settings.ts'
import { systemClock } from '../../src/core/clock.ts'
import { termsFor } from '../../src/proxy/request/settings.ts'

/** Patterns that operators write, or copy, and for which V8's engine can be made to take exponential or quadratic time. */
const patterns = [
  '^(a+)+$',
  '^(a|a)*$',
  '^(a|aa)+$',
  '(a*)*b',
  '(x+x+)+y',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '^(\\w+\\s?)*$',
  '(.*)*b',
  '(.*a){12}',
  '(.*?,){11}P',
  '(a?){20}a{20}',
  '[ab]*a[ab]{12}[cd]$',
  '[ab]*a[ab]{30}$',
  '(?i)[ab]*a[ab]{25}[c-e]',
  '(?:[ab]{0,10}a){5}[cd]',
  '(?:.*a){15}$',
  '\\b(\\w+)+\\b!',
  '[a-z]*[a-z]*[a-z]*[a-z]*1',
  '\\p{L}*\\p{Lu}\\p{L}{12}\\d$',
  '^(?:[a-c]|[b-d]|[c-e])*$',
  '^([a-zA-Z0-9._-]+)*@(([a-zA-Z0-9-])+.)+([a-zA-Z0-9]{2,4})+$',
  '^(sum|rate|avg)*.*\\(.*\\).*\\[.*\\]$',
  '(?:a.{20}){5}b$',
]

/** Fixed, so that every run matches the same texts. */
function drawn(alphabet: string, length: number): string {
  let seed = 12_345
  let text = ''
  for (let i = 0; i < length; i++) {
    seed = (seed * 48_271) % 0x7fffffff
    text += alphabet[seed % alphabet.length]
  }
  return text
}

const texts: readonly ((length: number) => string)[] = [
  (length) => 'a'.repeat(length),
  (length) => `${'a'.repeat(length - 1)}!`,
  (length) => 'ab'.repeat(length / 2),
  (length) => `${drawn('ab', length - 1)}!`,
  (length) => drawn('abcd', length),
  (length) => 'x '.repeat(length / 2),
  (length) => 'sum(rate(a['.repeat(length / 11),
  (length) => 'é'.repeat(length),
]

const shortLength = 256
const factor = 16
/** The engine takes another, slower way for long texts. A quadratic one takes 256 times as long, an exponential one for ever. */
const most = 8 * factor
/** Below, other things than the search decide how long it takes. */
const leastMs = 0.05

/** The shortest of some runs, so that other load on the machine does not count. It ends early where the time is short enough. */
function quickest(pattern: Pattern, text: string, enough: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 100 && best > enough; run++) {
    const began = systemClock.elapsed()
    // Each time another text: verdicts are remembered.
    const verdict = pattern.test(`${text}${run}`)
    best = Math.min(best, systemClock.elapsed() - began)
    assert.notEqual(verdict, undefined)
  }
  return best
}

for (const source of patterns) {
  test(`linear time: ${source}`, () => {
    const pattern = new Pattern(source)
    for (const make of texts) {
      const short = Math.max(leastMs, quickest(pattern, make(shortLength), leastMs))
      const long = quickest(pattern, make(shortLength * factor), most * short)
      assert.ok(long <= most * short, `${long} ms for ${factor} times the text of ${short} ms`)
    }
  })
}

test('a text that is too long for the size of a pattern is not searched', () => {
  const usual = new Pattern('^(a+)+$')
  assert.equal(usual.test('a'.repeat(32 * 1024)), true)
  assert.equal(usual.test('a'.repeat(32 * 1024 + 1)), undefined)
  const large = new Pattern('(?:[ab]{0,30}a){10}[cd]')
  assert.equal(large.test('ab'.repeat(300)), false)
  assert.equal(large.test('ab'.repeat(3000)), undefined)
})

test('patterns of many states are refused when they are read', () => {
  for (const source of ['(a{1000}){1000}', '(?:(?:(?:x{10}){10}){10}){10}', 'a{2000}', '((a{100}){100})'])
    assert.throws(() => new Pattern(source), /invalid repeat count/, source)
})

test('a pattern that cannot be matched in linear time is refused when it is read', () => {
  for (const source of ['(?=a)', '(?!a)', '(?<=a)b', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>'])
    assert.throws(() => new Pattern(source), /error parsing regexp/, source)
})

/** Patterns that both engines have, and texts that distinguish them. */
const usualPatterns = [
  '^(anna|bert)$',
  'rate\\(http_.*\\[5m\\]\\)',
  '^Grafana/.*',
  '^sum by \\(job\\)',
  '\\d{3,5}',
  '[^a-z]$',
  '^$',
  'a|b|$',
  '\\bjob\\b',
  '(?:x|y)?z+',
  '\\.',
  'é+',
  '\\p{Lu}\\p{Ll}+',
  '^/api/v1/(?:query|label)',
]
const usualTexts = [
  '',
  'anna',
  'annabert',
  'Grafana/12.0',
  'x Grafana/12.0',
  'sum by (job) (rate(http_requests_total[5m]))',
  'a1234b',
  'zzz.',
  'été ÉÉ',
  'Été',
  '/api/v1/query_range',
  'line\nbreak',
  'jobs job',
]

test('usual patterns have the matches of V8, the second time too', () => {
  for (const source of usualPatterns) {
    const [own, other] = [new Pattern(source), new RegExp(source, 'u')]
    for (const text of [...usualTexts, ...usualTexts])
      assert.equal(own.test(text), other.test(text), `${source} in ${JSON.stringify(text)}`)
  }
})

const rules = `
backends: { main: { url: 'http://a:9090' } }
rules:
  - name: hostile
    match: { query: { regex: '^(a+)+$' } }
    maxStale: 1m
  - name: by header
    match: { headers: [{ name: X-Team, regex: '^(a|a)*b$' }], query: { contains: up } }
    maxStale: 2m
`

test('a rule with a dangerous pattern decides at once; a text that is too long cannot be decided, and is forwarded', () => {
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(rules) } })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  const settings = settingsOf(loaded.config).get('main')!
  const terms = (query: string, team?: string) => {
    const headers = team === undefined ? [] : ['x-team', team]
    const { rule, mode, maxStaleMs } = termsFor(settings, { path: '/', headers, query })
    return [rule, mode, maxStaleMs / 60_000]
  }
  assert.deepEqual(terms('aaaa'), ['hostile', 'on', 1])
  assert.deepEqual(terms(`${'a'.repeat(30_000)}!`), [undefined, 'on', 15])
  assert.deepEqual(terms(`${'a'.repeat(100_000)}!`), ['hostile', 'off', 15])
  assert.deepEqual(terms('up', 'aaab'), ['by header', 'on', 2])
  assert.deepEqual(terms('up', 'a'.repeat(30_000)), [undefined, 'on', 15])
  assert.deepEqual(terms('up', 'a'.repeat(100_000)), ['by header', 'off', 15])
  // Another condition of the rule does not match.
  assert.deepEqual(terms('down', 'a'.repeat(100_000)), [undefined, 'on', 15])
})
