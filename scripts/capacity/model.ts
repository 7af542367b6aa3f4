/**
 * The resources of a fleet of nodes that share a store: formulas over a workload and measured costs, no simulation.
 * docs/guide/scale.md explains them in words; test/fleet compares them with the simulation of the engine.
 */

export interface Workload {
  readonly nodes: number
  readonly viewers: number
  readonly shapes: number
  /** Viewers of each shape, where they are known; otherwise popularity falls with the rank (Zipf). */
  readonly viewersOf?: readonly number[]
  readonly refreshS: number
  readonly stepS: number
  readonly windowBuckets: number
  /** Of a bucket in an answer, before compression. */
  readonly bytesPerBucket: number
  /** The shortest TTL: of the newest buckets. */
  readonly ttlS: number
  /** The database's time for a query. */
  readonly queryS: number
  /** One operation of the store, there and back. */
  readonly storeS: number
  /** How soon buckets that another node has fetched anew replace fresh ones (`stores.*.notice`). */
  readonly noticeS: number
  readonly retentionS: number
  /** Bytes in the store per byte of an answer, without the heads of rows. */
  readonly storedPerByte: number
}

/** The published dashboard: 3 h in minutes, a refresh every 10 s, 20 series. */
export const dashboard = {
  ...{ refreshS: 10, stepS: 60, windowBuckets: 180, bytesPerBucket: 500, ttlS: 5 },
  ...{ queryS: 0.15, storeS: 0.002, noticeS: 60, retentionS: 86_400, storedPerByte: 0.3 },
} satisfies Partial<Workload>

/** Figures of each operation, from the simulation of the engine (`npm run bench:fleet`) and the layout of rows. */
export const measured = {
  /** Buckets that a query fetches on average: from the first stale one to the end of the window. */
  bucketsPerQuery: 4.1,
  rowsPerQuery: 3.1,
  /** How often a waiting node looks at a claim before the query has ended, the first look included. */
  looksPerWait: 4,
  claimBytes: 650,
  /** A read of the newest buckets brings the aligned block of 64 that they are in, on average half of it. */
  bucketsPerTailRead: 36,
  rowsPerTailRead: 18,
  rowsPerWindowRead: 54,
  /** Of each row besides its buckets, and of the record that comes with each read. */
  rowBytes: 85,
  recordBytes: 300,
} as const

export interface Demand {
  readonly requests: number
  readonly queries: number
  /** Of requests. */
  readonly hitShare: number
  /** Nodes that wait for a query of another one, per query. */
  readonly waitsPerQuery: number
  readonly reads: number
  /** Those of the reads that bring a whole window, because another node has fetched something anew. */
  readonly notices: number
  readonly writes: number
  /** Those of the reads of cells that look at claims. */
  readonly claimReads: number
  readonly cellReads: number
  readonly cellWrites: number
  /** Reads and writes of the most popular shape's claim: one row, and on most engines one partition. */
  readonly hottestClaim: number
  /** Bytes per second. */
  readonly storeBytesOut: number
  readonly storeBytesIn: number
  readonly databaseBytes: number
  readonly viewerBytes: number
  readonly storedBytes: number
}

/** All rates are per second. One node alone needs no shared store. */
export function demandOf(workload: Workload): Demand {
  const demand = sharedDemand(workload)
  return workload.nodes === 1 ? { ...demand, ...noStore } : demand
}

const noStore = {
  ...{ reads: 0, notices: 0, writes: 0, claimReads: 0, cellReads: 0, cellWrites: 0, hottestClaim: 0 },
  ...{ storeBytesOut: 0, storeBytesIn: 0, storedBytes: 0 },
}

function sharedDemand(workload: Workload): Demand {
  const shapes = shapesOf(workload)
  const sum = (of: (shape: ShapeDemand) => number): number =>
    shapes.reduce((total, { count, demand }) => total + count * of(demand), 0)
  const { nodes, viewers, refreshS, windowBuckets, bytesPerBucket } = workload
  const requests = viewers / refreshS
  const queries = sum((shape) => shape.queries)
  const [tailReads, notices] = [sum((shape) => shape.tailReads), sum((shape) => shape.notices)]
  const waits = sum((shape) => shape.waits)
  const claimReads = sum((shape) => shape.claimReads)
  const cellReads = claimReads + nodes * pollsPerNode + fleetReads(nodes)
  const cellWrites = 2 * queries + fleetWrites(nodes)
  const bytesOf = (rows: number, buckets: number): number =>
    rows * measured.rowBytes + buckets * bytesPerBucket * workload.storedPerByte
  const keptBuckets = windowBuckets + workload.retentionS / workload.stepS
  return {
    ...{ requests, queries, notices, claimReads, cellReads, cellWrites },
    hitShare: requests === 0 ? 0 : 1 - queries / requests,
    waitsPerQuery: queries === 0 ? 0 : waits / queries,
    // A comparison reads a stamp and, since shapes in use are always refreshed by some node, the window.
    reads: tailReads + 2 * notices,
    writes: queries,
    hottestClaim: Math.max(0, ...shapes.map(({ demand }) => demand.claimReads + 2 * demand.queries)),
    storeBytesOut:
      tailReads * (measured.recordBytes + bytesOf(measured.rowsPerTailRead, measured.bucketsPerTailRead)) +
      notices * (2 * measured.recordBytes + bytesOf(measured.rowsPerWindowRead, windowBuckets)) +
      claimReads * measured.claimBytes,
    storeBytesIn:
      queries * (bytesOf(measured.rowsPerQuery, measured.bucketsPerQuery) + 2 * measured.claimBytes),
    databaseBytes: queries * measured.bucketsPerQuery * bytesPerBucket,
    viewerBytes: requests * windowBuckets * bytesPerBucket,
    storedBytes: workload.shapes * bytesOf(keptBuckets / bucketsPerKeptRow, keptBuckets),
  }
}

/** Of one shape, per second. */
export interface ShapeDemand {
  readonly queries: number
  readonly waits: number
  readonly tailReads: number
  readonly notices: number
  readonly claimReads: number
}

/** Rates for one shape that `viewers` look at, over all nodes. */
export function shapeDemand(viewers: number, workload: Workload): ShapeDemand {
  const { nodes, refreshS, queryS, storeS, noticeS } = workload
  const queries = queriesPerS(viewers, workload)
  const requests = viewers / refreshS
  const perNode = requests / nodes
  const others = nodes - 1
  // A node that looks while a query is under way waits for it: claim, query, write-through and landing.
  const underWayS = queryS + 4 * storeS
  const waiting = others * (1 - Math.exp(-perNode * underWayS))
  // Each other node reads the result of every query once, with its first request afterwards.
  const readers = others * (1 - Math.exp(-perNode / queries))
  return {
    queries,
    waits: queries * waiting,
    tailReads: queries * (1 + waiting + readers),
    notices: nodes / (noticeS + 1 / perNode),
    claimReads: queries * (1 + waiting * measured.looksPerWait),
  }
}

/**
 * After a query its newest buckets are fresh for the TTL, and the next request after that is a query again. It comes sooner
 * where several viewers look: older buckets, whose TTLs are multiples of the shortest, lapse on their own in between, and the
 * query for them brings the newest along. When a new bucket begins, the first request is a query too, unless it would have
 * been one anyway.
 */
export function queriesPerS(viewers: number, { refreshS, ttlS, stepS }: Workload): number {
  const requests = viewers / refreshS
  const cycleS = ttlS + (nextRequestS(viewers, refreshS, ttlS) * (viewers + 1)) / (2 * viewers)
  const lapses = 1 / cycleS
  return lapses + Math.max(0, 1 - lapses / requests) / stepS
}

/** The mean time until the next of `viewers` requests, whose phases are random, when the last query was `ttlS` ago. */
function nextRequestS(viewers: number, refreshS: number, ttlS: number): number {
  const ownS = Math.ceil(ttlS / refreshS) * refreshS - ttlS
  return (refreshS / viewers) * (1 - (1 - ownS / refreshS) ** viewers)
}

/** Marks once a second, modes every two. */
const pollsPerNode = 1.5
/** Settled buckets are fetched again each hour, many at a time, and lie in long rows then. */
const bucketsPerKeptRow = 10

/** Heartbeats and summaries: every five seconds, less often with more than 250 nodes. */
const fleetWrites = (nodes: number): number => (1.5 * nodes) / Math.max(5, 0.02 * nodes)

/** Every node lists all nodes, at most ten rows per second; a list is one operation. */
const fleetReads = (nodes: number): number => nodes / Math.max(5, 0.1 * nodes)

/** Shapes by their popularity; those of nearly the same are counted together. */
function shapesOf(workload: Workload): { readonly count: number; readonly demand: ShapeDemand }[] {
  const { viewersOf, shapes, viewers } = workload
  if (viewersOf !== undefined)
    return viewersOf
      .filter((count) => count > 0)
      .map((each) => ({ count: 1, demand: shapeDemand(each, workload) }))
  const ranks = Array.from({ length: shapes }, (_, rank) => 1 / (rank + 1))
  const total = ranks.reduce((sum, weight) => sum + weight, 0)
  const found: { count: number; demand: ShapeDemand }[] = []
  for (let from = 0; from < shapes; ) {
    const to = Math.min(shapes, Math.max(from + 1, Math.floor(from * 1.02)))
    const weight = ranks.slice(from, to).reduce((sum, each) => sum + each, 0)
    const mean = (viewers * weight) / total / (to - from)
    // Where there is less than one viewer per shape, some shapes have none.
    const watched = 1 - Math.exp(-mean)
    found.push({ count: (to - from) * watched, demand: shapeDemand(mean / watched, workload) })
    from = to
  }
  return found
}
