import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseStep, parseTime, readRange } from './time.ts'

const times: readonly (readonly [text: string, ms: number, ns: number])[] = [
  ['0', 0, 0],
  ['1435781430', 1435781430000, 0],
  ['1435781430.781', 1435781430781, 0],
  ['1435781430.7', 1435781430700, 0],
  ['1435781430.', 1435781430000, 0],
  ['.5', 500, 0],
  ['1435781430.7814', 1435781430781, 0],
  ['1435781430.7816', 1435781430782, 0],
  ['1435781430.9999', 1435781431000, 0],
  ['1.4357814e9', 1435781400000, 0],
  ['1.435781430781E+9', 1435781430781, 0],
  ['1970-01-01T00:00:00Z', 0, 0],
  ['2015-07-01T20:10:51.781Z', 1435781451781, 0],
  ['2015-07-01T20:10:51.781999999Z', 1435781451781, 999999],
  ['2015-07-01T20:10:51.7Z', 1435781451700, 0],
  ['2015-07-01T20:10:51+05:30', 1435761651000, 0],
  ['2015-07-01T20:10:51.000000001-08:00', 1435810251000, 1],
  ['2016-02-29T00:00:00Z', 1456704000000, 0],
]

for (const [text, ms, ns] of times) {
  test(`reads the time ${text}`, () => assert.deepEqual(parseTime(text), { ms, ns }))
}

const unreadableTimes = [
  ...[
    '',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '-0',
    '0x10',
    '0x1p4',
    '1_000',
    'inf',
    '+Inf',
    'nan',
    '1e',
    '.',
    'e5',
    '1e400',
  ],
  ...[
    '99999999999',
    '9223372037',
    '1969-12-31T23:59:59Z',
    '1970-01-01T00:00:00+00:01',
    '0001-01-01T00:00:00Z',
  ],
  ...['2015-02-29T00:00:00Z', '2015-13-01T00:00:00Z', '2015-00-01T00:00:00Z', '2015-07-00T00:00:00Z'],
  ...['2015-07-01T24:00:00Z', '2015-07-01T23:60:00Z', '2015-07-01T23:59:60Z', '2015-07-01T20:10:51'],
  ...['2015-07-01t20:10:51Z', '2015-07-01T20:10:51z', '2015-07-01 20:10:51Z', '2015-07-01T20:10:51,5Z'],
  ...[
    '2015-07-01T20:10:51.1234567891Z',
    '2015-07-01T20:10:51.Z',
    '2015-07-01T20:10:51+24:00',
    '2300-01-01T00:00:00Z',
  ],
  ...['2015-07-01T20:10:51+05:60', '2015-07-01T20:10:51 05:30', '2015-07-01', 'now', '1h'],
]

for (const text of unreadableTimes) {
  test(`does not guess about the time ${JSON.stringify(text)}`, () =>
    assert.equal(parseTime(text), undefined))
}

const steps: readonly (readonly [text: string, ms: number])[] = [
  ['60', 60_000],
  ['60.0', 60_000],
  ['6e1', 60_000],
  ['1m', 60_000],
  ['0.001', 1],
  ['0.5', 500],
  ['500ms', 500],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  ['1y2w3d4h5m6s7ms', 31_536_000_000 + 1_209_600_000 + 273_906_007],
  ['0', 0],
  ['0s', 0],
]

for (const [text, ms] of steps) {
  test(`reads the step ${text}`, () => assert.equal(parseStep(text), ms))
}

const unreadableSteps = [
  ...['', '-1', '+1', '1.5s', '1m1h', '1m1m', '5x', 'm', '1 m', '1mm', '0x10', 'inf', 'nan', '1e30', '999y'],
  ...['99999999999999999999y', '0.0005', '1m30'],
]

for (const text of unreadableSteps) {
  test(`does not guess about the step ${JSON.stringify(text)}`, () =>
    assert.equal(parseStep(text), undefined))
}

test('refuses a step that Go turns into a fraction of a millisecond (1.001 s is 1000.999999 ms there)', () => {
  assert.equal(parseStep('1.001'), undefined)
  assert.equal(parseStep('1s1ms'), 1001)
})

const refusalOf = (start: string, end: string, step: string): string | undefined => {
  const range = readRange(start, end, step)
  return 'bypass' in range ? `${range.bypass}: ${range.detail}` : undefined
}

test('start == end is one point', () => {
  assert.deepEqual(readRange('10', '10', '1'), { start: 10_000, end: 10_000, stepMs: 1000 })
})

test('end before start is refused, also below a millisecond', () => {
  assert.match(refusalOf('10', '9.999', '1') ?? '', /^invalid_parameter: end is before start/)
  const [early, late] = ['2015-07-01T20:10:51.000000001Z', '2015-07-01T20:10:51.000000002Z']
  assert.match(refusalOf(late, early, '1') ?? '', /end is before start/)
  assert.equal(refusalOf(early, late, '1'), undefined)
})

test('a step of zero is refused', () => {
  assert.match(refusalOf('0', '10', '0') ?? '', /^invalid_parameter: step is not positive/)
})

test('11 001 points are allowed and 11 002 are not, by division in nanoseconds', () => {
  assert.equal(refusalOf('0', '11000', '1'), undefined)
  assert.equal(refusalOf('0', '11000.999', '1'), undefined)
  assert.match(refusalOf('0', '11001', '1') ?? '', /^invalid_parameter: more than 11 000 steps/)
  assert.equal(refusalOf('1970-01-01T00:00:00.000000001Z', '11001', '1'), undefined)
})

test('unreadable parts are named', () => {
  assert.match(refusalOf('x', '1', '1') ?? '', /^invalid_parameter: start/)
  assert.match(refusalOf('1', 'x', '1') ?? '', /^invalid_parameter: end/)
  assert.match(refusalOf('1', '1', 'x') ?? '', /^invalid_parameter: step/)
})

test('agrees with the time that JavaScript prints', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9e12 }), (ms) => {
      assert.deepEqual(parseTime(new Date(ms).toISOString()), { ms, ns: 0 })
    }),
  )
})

test('never throws', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (start, end, step) => {
      readRange(start, end, step)
    }),
  )
})
