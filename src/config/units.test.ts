import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { distance, nearest } from '../core/suggest.ts'
import {
  formatDuration,
  formatPercentage,
  formatSize,
  parseDuration,
  parsePercentage,
  parseSize,
} from './units.ts'

test('durations', () => {
  for (const [text, ms] of [
    ['0s', 0],
    ['500ms', 500],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['1m30ms', 60_030],
  ] as const) {
    assert.equal(parseDuration(text), ms, text)
  }
  for (const text of [
    '',
    '5',
    '5 s',
    '-5s',
    '5S',
    '1w',
    '1m1h',
    '1s1s',
    '0.5ms',
    's',
    '1e3s',
    '99999999999999999d',
  ]) {
    assert.equal(parseDuration(text), undefined, text)
  }
})

test('percentages', () => {
  for (const [text, share] of [
    ['1%', 0.01],
    ['0.5 %', 0.005],
    ['0.7%', 0.007],
    ['99.9%', 0.999],
  ] as const) {
    assert.equal(parsePercentage(text), share, text)
    assert.equal(parsePercentage(formatPercentage(share)), share)
  }
  for (const text of ['', '%', '1', '-1%', '1%%', '.5%', '1e1%', '1  %']) {
    assert.equal(parsePercentage(text), undefined, text)
  }
})

test('sizes', () => {
  for (const [text, bytes] of [
    ['0B', 0],
    ['512', 512],
    ['64MB', 64e6],
    ['64mib', 2 ** 26],
    ['1.5GiB', 1.5 * 2 ** 30],
    ['1g', 1e9],
    ['2 TiB', 2 ** 41],
  ] as const) {
    assert.equal(parseSize(text), bytes, text)
  }
  for (const text of ['', 'MiB', '-1', '1PB', '1  MB', '1MiBs', '99999999TiB']) {
    assert.equal(parseSize(text), undefined, text)
  }
})

test('a printed value is read as the same number', () => {
  const whole = fc.nat(Number.MAX_SAFE_INTEGER)
  fc.assert(fc.property(whole, (ms) => assert.equal(parseDuration(formatDuration(ms)), ms)))
  fc.assert(fc.property(whole, (bytes) => assert.equal(parseSize(formatSize(bytes)), bytes)))
  assert.equal(formatDuration(5_400_000), '1h30m')
  assert.equal(formatSize(2 ** 29), '512MiB')
  assert.equal(formatSize(2e9), '2GB')
})

test('the distance between words', () => {
  for (const [a, b, d] of [
    ['', '', 0],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
    ['fast', 'fats', 1],
    ['maxStale', 'maxStall', 1],
  ] as const) {
    assert.equal(distance(a, b), d)
  }
  const word = fc.string({ maxLength: 8 })
  fc.assert(
    fc.property(word, word, (a, b) => {
      assert.equal(distance(a, b), distance(b, a))
      assert.equal(distance(a, b) === 0, a === b)
      assert.ok(distance(a, b) <= Math.max(a.length, b.length))
    }),
  )
})

test('only near values are suggested', () => {
  const keys = ['maxStale', 'memory', 'listen', 'tls']
  for (const [word, wanted] of [
    ['max_stale', 'maxStale'],
    ['MaxStale', 'maxStale'],
    ['memroy', 'memory'],
    ['listn', 'listen'],
    ['tsl', 'tls'],
    ['mem', 'memory'],
    ['x', undefined],
    ['something', undefined],
  ] as const) {
    assert.equal(nearest(word, keys), wanted, word)
  }
})
