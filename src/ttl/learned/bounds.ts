/**
 * Confidence bounds of counts: the largest and the smallest rate or share that the observations are compatible with.
 */

/** z of a one-sided 95 % bound. */
export const oneSided95 = 1.6448536269514722
/** z of a two-sided 95 % interval. */
const twoSided95 = 1.959963984540054

/**
 * The upper bound of an expected number of events of which `count` were seen; z is the one-sided normal quantile. The
 * quantile of a gamma distribution with shape count + 1, by Wilson and Hilferty: within 1 % of the exact one.
 */
export function gammaUpper(count: number, z: number): number {
  const shape = count + 1
  const h = 1 / (9 * shape)
  return shape * (1 - h + z * Math.sqrt(h)) ** 3
}

export interface Range {
  readonly low: number
  readonly high: number
}

/** The 95 % interval (Wilson) of a share of which `count` of `total` were seen. Neither has to be whole. */
export function wilson(count: number, total: number): Range {
  if (!(total > 0)) return { low: 0, high: 1 }
  const share = count / total
  const z2 = twoSided95 ** 2 / total
  const middle = (share + z2 / 2) / (1 + z2)
  const half = (twoSided95 * Math.sqrt((share * (1 - share)) / total + z2 / (4 * total))) / (1 + z2)
  // The ends are exact where nothing or everything counts: rounding must not leave a trace of the other.
  return { low: count <= 0 ? 0 : middle - half, high: count >= total ? 1 : middle + half }
}

/**
 * Draws that were made together (a cluster) carry less information than independent draws if they agree. These sums
 * over clusters suffice to compute how much less. Adding the sums of two nodes gives those of both.
 */
export interface ClusterSums {
  readonly clusters: number
  /** Σm: draws. */
  readonly draws: number
  /** Σk: draws that count, for example because they were stale. */
  readonly hits: number
  /** Σm², Σk·m and Σk². */
  readonly drawsSquared: number
  readonly hitsByDraws: number
  readonly hitsSquared: number
}

export interface ClusterInterval extends Range {
  readonly estimate: number
  /** The number of independent draws with the same information. */
  readonly effectiveDraws: number
}

/** The 95 % interval of the share of draws that count. */
export function clusterInterval(sums: ClusterSums): ClusterInterval {
  const { draws, hits } = sums
  if (!(draws > 0)) return { estimate: 0, low: 0, high: 1, effectiveDraws: 0 }
  const estimate = Math.min(1, hits / draws)
  const effectiveDraws = effectiveDrawsOf(sums, estimate)
  return { estimate, effectiveDraws, ...wilson(estimate * effectiveDraws, effectiveDraws) }
}

function effectiveDrawsOf(sums: ClusterSums, share: number): number {
  const { clusters, draws, drawsSquared, hitsByDraws, hitsSquared } = sums
  const independent = (share * (1 - share)) / draws
  // Where all draws agree, nothing shows how far clusters differ. They are then taken to be of one piece each.
  if (independent <= 0) return clusters
  if (clusters <= 1) return 0
  const deviations = hitsSquared - 2 * share * hitsByDraws + share ** 2 * drawsSquared
  const variance = ((clusters / (clusters - 1)) * deviations) / draws ** 2
  return draws / Math.max(1, variance / independent)
}
