import assert from 'node:assert/strict'
import test from 'node:test'
import type { BackendTtl } from '../proxy/admin/ttl.ts'
import { ladder } from '../ttl/ladder.ts'
import { type TtlClass, ttlReport } from '../ttl/ttl-report.ts'
import { ttlSvg } from './ttl-svg.ts'
import { ttlLines } from './ttl-text.ts'

const style = { columns: 80, hasUtf8: true, paint: (text: string) => text }
const unmeasured = { estimate: 0, low: 0, high: 1, samples: 0, error: 0 }

const classOf = (from: number | null, to: number | null, more: Partial<TtlClass>): TtlClass => ({
  ...{ ageFromS: from, ageToS: to, rate: 0.001, rateUpper95: 0.002, observations: 100, ttlS: 10 },
  ...{ source: 'shape', boundBy: null, staleness: unmeasured },
  ...more,
})

/** A class per age group; the last two have the same TTL. */
const learnt: BackendTtl = {
  backend: 'main',
  budget: 0.01,
  classes: [
    classOf(null, 120, {
      ...{ ttlS: 5, boundBy: 'floor', rate: 0.05 },
      staleness: { estimate: 0.03, low: 0.02, high: 0.05, samples: 300, error: 0.1 },
    }),
    classOf(120, 600, { staleness: { estimate: 0.004, low: 0.002, high: 0.008, samples: 1500, error: 0 } }),
    classOf(600, 3600, { staleness: { estimate: 0.008, low: 0.002, high: 0.02, samples: 200, error: 0 } }),
    classOf(3600, 21_600, { ttlS: 3600, rate: 1e-5 }),
    classOf(21_600, null, { ttlS: 86_400, boundBy: 'cap', rate: null, rateUpper95: null }),
  ],
}

test('the ladder is drawn with its TTLs, without rates and staleness', () => {
  assert.equal(
    `\n${ttlLines({ backend: 'main', ...ttlReport(ladder(), undefined) }, style).join('\n')}\n`,
    `
main: no staleness budget; the TTLs of its policy

  60 min │                        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
         │                       ━
  12 min │                      ━
         │                     ━
   2 min │                    ━
         │                 ━━━
    26 s │               ━━
         │           ━━━━
   5.0 s │━━━━━━━━━━━
         └─────┬──────────────────┬─────────────┬─────────────┬──────────┬─────
               1 min              10 min        1 h           6 h        1 d
          ━ TTL, by age of the bucket

age           TTL
< 2 min       5.0 s
2 min–10 min  10 s–21 min
10 min–1 h    43 min–60 min
1 h–6 h       60 min
6 h–1 d       60 min
> 1 d         60 min
`,
  )
})

test('a learned curve is shown with its rates, the measured staleness, and whether that is within the budget', () => {
  const lines = ttlLines(learnt, style)
  assert.equal(lines[0], 'main: of the buckets shown, at most 1 % may be out of date')
  assert.deepEqual(lines.slice(-7), [
    'age           TTL     changes every  stale (95 %)       samples',
    '< 2 min       5.0 s   20 s           3 % (2–5 %)            300  over budget, floor binds',
    '2 min–10 min  10 s    17 min         0.4 % (0.2–0.8 %)    1,500  within budget',
    '10 min–1 h    10 s    17 min         0.8 % (0.2–2 %)        200  not certain yet',
    '1 h–6 h       60 min  28 h           –                        0',
    '6 h–1 d       24 h    –              –                        0  cap binds',
    '> 1 d         24 h    –              –                        0  cap binds',
  ])
  assert.ok(lines.length <= 30)
  assert.ok(lines.some((line) => line.includes('·')))
})

test('the last class, which begins within a day, has the measurement above a day', () => {
  const measured = (samples: number) => ({ ...unmeasured, samples })
  const classes = [
    classOf(null, 54_000, {}),
    classOf(54_000, 76_800, { staleness: measured(6) }),
    classOf(76_800, null, { staleness: measured(24) }),
  ]
  const rows = ttlLines({ ...learnt, classes }, style).slice(-2)
  assert.match(rows[0]!, /^6 h–1 d .* 6 {2}not certain yet$/)
  assert.match(rows[1]!, /^> 1 d .* 24 {2}not certain yet$/)
})

test('a title names the owner of the TTLs, without characters that could move the cursor, and ASCII is enough', () => {
  const named = { ...learnt, rule: 'exact\u001b[2J', shape: 'abc' }
  const lines = ttlLines(named, { ...style, hasUtf8: false, columns: 40 })
  assert.match(lines[0]!, /^main, rule exact \[2J, shape abc: of the buckets shown/)
  assert.ok(lines.every((line) => /^[ -~]*$/.test(line)))
})

test('the drawing has a panel for rates, TTLs and staleness, and strangers write no markup', () => {
  const svg = ttlSvg({ ...learnt, backend: '<script>&' })
  assert.ok(!svg.includes('<script>'))
  assert.match(svg, /<title>TTLs of &lt;script&gt;&amp;, staleness budget 1 %<\/title>/)
  for (const title of ['changes per hour', '>TTL;', 'measured staleness'])
    assert.ok(svg.includes(title), title)
  assert.ok(!/NaN|Infinity|undefined/.test(svg))
  const configured = ttlSvg({ backend: 'main', ...ttlReport(ladder(), undefined) })
  assert.ok(!configured.includes('changes per hour') && !configured.includes('measured staleness'))
})
