/** The nodes that share a store, as pages of the admin listener show them: one, or all as one. */

import { iso } from '../../core/text.ts'
import type { Fleet, FleetNode, FleetView } from '../fleet/fleet.ts'
import { addCounts, addLists, quantileOf } from '../fleet/merge.ts'
import type { Counts } from '../fleet/summary.ts'

export interface FleetAccess {
  /** The nodes that share a store with this one, where one can be shared. */
  readonly fleet?: Pick<Fleet, 'view'> | undefined
}

/** A change made at one node holds at all that share the store after this long. */
const reachSeconds = 5

/** `?node=` by name or id; by default all that are up. */
export async function chooseNodes(
  { fleet }: FleetAccess,
  parameters: URLSearchParams,
): Promise<FleetView | { readonly mistake: string }> {
  const wanted = parameters.get('node')
  const view = await fleet?.view()
  if (view === undefined) {
    return wanted === null
      ? { nodes: [], trouble: undefined }
      : { mistake: 'no store is shared with other nodes' }
  }
  const { nodes, trouble } = view
  if (wanted === null) return { nodes: nodes.filter(({ state }) => state === 'up'), trouble }
  const found = nodes.filter(({ id, name }) => id === wanted || name === wanted)
  if (found.length === 1) return { nodes: found, trouble }
  const known = nodes
    .map(({ id, name, admin = 'no admin listener' }) => `${name} (${admin}, id ${id})`)
    .join(', ')
  const why = found.length === 0 ? 'there is no node' : 'several nodes are called'
  return { mistake: `${why} "${wanted}"; there are: ${known}${trouble === undefined ? '' : `; ${trouble}`}` }
}

/** How many nodes a change reaches, and how soon, where it was written to a shared store. */
export async function reachOf({ fleet }: FleetAccess, isShared: boolean): Promise<object> {
  const view = isShared ? await fleet?.view() : undefined
  if (view === undefined) return {}
  const nodes = view.nodes.filter(({ state }) => state === 'up').length
  return { reach: { nodes, withinSeconds: reachSeconds } }
}

/** The part of `/-/status` about nodes. */
export function viewOfFleet({ nodes, trouble }: FleetView) {
  const up = nodes.filter(({ state }) => state === 'up')
  const state = trouble !== undefined ? 'unreachable' : up.length > 1 ? 'shared' : 'alone'
  return {
    fleet: {
      ...{ state, ...(trouble !== undefined && { detail: trouble }) },
      ...{ up: up.length, missing: nodes.length - up.length },
      ...viewOfTotals(up),
    },
    nodes: nodes.map(viewOfNode),
  }
}

function viewOfNode(node: FleetNode): object {
  const { id, name, admin, version, pid, startedAt, beatAt, isSelf, state, summary } = node
  return {
    ...{ name, id, state, ...(isSelf && { self: true }), admin, version, pid },
    ...{ startedAt: iso(startedAt), seenAt: iso(beatAt) },
    ...(summary !== undefined && {
      ...viewOfTotals([node]),
      memory: summary.memory,
      backends: summary.backends.map(({ name: backend, mode, isOverridden }) => ({
        name: backend,
        mode,
        ...(isOverridden && { overridden: true }),
      })),
    }),
  }
}

function viewOfTotals(nodes: readonly FleetNode[]): object {
  const totals = nodes.flatMap(({ summary }) => (summary === undefined ? [] : [summary.totals]))
  const requests = addCounts(totals.map((each) => each.requests))
  const sum = (of: 'queries' | 'failedQueries'): number => totals.reduce((all, each) => all + each[of], 0)
  const durations = addLists(totals.map((each) => each.durations))
  return {
    requests: withoutZeros(requests),
    hitShare: hitShareOf(requests),
    buckets: addCounts(totals.map((each) => each.buckets)),
    ...{ queries: sum('queries'), failedQueries: sum('failedQueries') },
    ...{ p50Ms: msOf(quantileOf(durations, 0.5)), p99Ms: msOf(quantileOf(durations, 0.99)) },
  }
}

const withoutZeros = (counts: Counts): Counts =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

/** Requests that were answered from the cache, in whole or in part. */
function hitShareOf(requests: Counts): number | undefined {
  const all = Object.values(requests).reduce((a, b) => a + b, 0)
  const { hit = 0, partial = 0, stale = 0 } = requests
  return all === 0 ? undefined : Math.round(((hit + partial + stale) / all) * 1000) / 1000
}

const msOf = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * 1e6) / 1000
