import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { type ClusterSums, clusterInterval, gammaUpper, oneSided95, wilson } from './bounds.ts'

function assertClose(actual: number, expected: number, tolerance = 1e-8) {
  const difference = Math.abs(actual - expected)
  assert.ok(difference <= tolerance * Math.abs(expected), `${actual} is not ${expected}`)
}

/** The sums over clusters that are given as [draws, hits]. */
function sumsOf(clusters: readonly (readonly [draws: number, hits: number])[]): ClusterSums {
  const total = (of: (m: number, k: number) => number) => clusters.reduce((sum, [m, k]) => sum + of(m, k), 0)
  return {
    clusters: clusters.length,
    draws: total((m) => m),
    hits: total((_, k) => k),
    drawsSquared: total((m) => m * m),
    hitsByDraws: total((m, k) => m * k),
    hitsSquared: total((_, k) => k * k),
  }
}

test('the golden vectors of the gamma quantile (G5)', () => {
  const at80: [number, number][] = [
    [0, 1.59927045],
    [0.5, 2.311115545],
    [1, 2.985104022],
    [3, 5.507457852],
    [10, 13.64563924],
    [100, 109.3446683],
  ]
  for (const [count, upper] of at80) assertClose(gammaUpper(count, 0.8416212335729143), upper, 1e-9)
  const at95: [number, number][] = [
    [0, 2.968434973],
    [3, 7.744532312],
    [100, 118.0785129],
  ]
  for (const [count, upper] of at95) assertClose(gammaUpper(count, oneSided95), upper, 1e-9)
  assertClose(gammaUpper(0, oneSided95), -Math.log(0.05), 0.01)
})

test('the upper bound of buckets that never changed (G6)', () => {
  assertClose(gammaUpper(0, 0.8416212335729143) / (1440 * 3600), 3.0850124414611604e-7, 1e-14)
})

test('the golden vectors of the Wilson interval (G10)', () => {
  const vectors: [count: number, total: number, low: number, high: number][] = [
    [0, 300, 0, 0.012642971224546036],
    [3, 300, 0.003406618437715286, 0.02898349336233983],
    [15, 1000, 0.009110978804081668, 0.024600976926906798],
  ]
  for (const [count, total, low, high] of vectors) {
    const range = wilson(count, total)
    assertClose(range.low, low, 1e-13)
    assertClose(range.high, high, 1e-13)
  }
})

test('the golden vectors of the interval by cluster (G10)', () => {
  const oneAllStale = clusterInterval(sumsOf([[10, 10], ...Array(19).fill([10, 0])]))
  assert.equal(oneAllStale.estimate, 0.05)
  assertClose(200 / oneAllStale.effectiveDraws, 10.526315789473685, 1e-12)
  assertClose(oneAllStale.effectiveDraws, 19, 1e-12)
  assertClose(oneAllStale.low, 0.0085650069)
  assertClose(oneAllStale.high, 0.2427962947)

  const evenlyStale = clusterInterval(sumsOf([...Array(10).fill([10, 1]), ...Array(10).fill([10, 0])]))
  assert.equal(evenlyStale.effectiveDraws, 200)
  assertClose(evenlyStale.low, 0.0273826456)
  assertClose(evenlyStale.high, 0.0895781481)
})

test('clusters that agree count once each', () => {
  assert.equal(clusterInterval(sumsOf(Array(20).fill([10, 0]))).effectiveDraws, 20)
  assert.equal(clusterInterval(sumsOf(Array(20).fill([10, 10]))).effectiveDraws, 20)
  assert.equal(clusterInterval(sumsOf(Array(20).fill([10, 10]))).high, 1)
})

test('no observation, or one cluster that does not agree, is inconclusive', () => {
  assert.deepEqual(wilson(0, 0), { low: 0, high: 1 })
  assert.deepEqual(clusterInterval(sumsOf([])), { estimate: 0, low: 0, high: 1, effectiveDraws: 0 })
  assert.deepEqual(clusterInterval(sumsOf([[4, 1]])), { estimate: 0.25, low: 0, high: 1, effectiveDraws: 0 })
})

test('an interval holds its estimate, lies within 0 and 1, and is never narrower than that of independent draws', () => {
  const cluster = fc.nat(20).chain((m) => fc.nat(m + 1).map((k) => [m + 1, k] as const))
  fc.assert(
    fc.property(fc.array(cluster, { minLength: 2, maxLength: 40 }), (clusters) => {
      const sums = sumsOf(clusters)
      const { low, high, estimate } = clusterInterval(sums)
      const independent = wilson(sums.hits, sums.draws)
      assert.ok(0 <= low && low <= estimate && estimate <= high && high <= 1)
      assert.ok(high - low >= independent.high - independent.low - 1e-12)
    }),
  )
})
