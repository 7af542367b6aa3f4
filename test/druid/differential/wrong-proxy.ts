/** Proxies and caches with a known fault, to show that the suite notices it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'

import type { Backend } from '../../../src/backends/backend.ts'
import type { DruidPlan } from '../../../src/backends/druid/druid-plan.ts'
import { type DruidQuery, druid } from '../../../src/backends/druid/index.ts'

import { startOf } from '../../../src/core/grid.ts'
import { defaultLimits } from '../../../src/proxy/limits.ts'
import type { UnderTest } from '../../fidelity/under-test.ts'
import { startUnderTest } from './under-test.ts'

export type StartProxy = (upstream: string) => Promise<UnderTest>

/** Windowpane with another idea of how a query is to be answered. */
export const planningWrongly =
  (mislead: (plan: DruidPlan) => Partial<DruidPlan>): StartProxy =>
  (upstream) => {
    const right = druid({ maxBuckets: defaultLimits.maxBuckets })
    const wrong: Backend<DruidQuery> = {
      ...right,
      plan(query, now, flavour) {
        const plan = right.plan(query, now, flavour)
        return 'bypass' in plan ? plan : { ...plan, ...mislead(plan as DruidPlan) }
      },
    }
    return startUnderTest(upstream, { backend: wrong })
  }

/** The usual mistake: an edge is kept as if it were a whole bucket. */
export const keepsEdges = ({ window }: DruidPlan): Partial<DruidPlan> => ({
  whole: [window],
  edges: undefined as never,
})

/** The other usual mistake: whole buckets are fetched where only a part was wanted. */
export const widensEdges = ({ window, grid }: DruidPlan): Partial<DruidPlan> => ({
  ...keepsEdges({ window } as DruidPlan),
  spans: [{ from: startOf(grid, window.from), to: startOf(grid, window.to) }],
})

/** One entry for queries that differ in their filter. */
export const forgetsTheFilter = ({ shape }: DruidPlan): Partial<DruidPlan> => ({
  shape: shape.replace(/"(?:filter|context|having)":.*?[}\]],/g, ''),
})

interface Forwarding {
  /** Changes the client's answer. */
  readonly answer?: (body: string) => string
  /** The proxy's claim about every answer. */
  readonly claim: string
}

/** Forwards everything, and makes the given claim about each answer. */
export const forwarding =
  (wrong: Forwarding): StartProxy =>
  async (upstream) => {
    const server = createServer((incoming, outgoing) => {
      forward(upstream, wrong, { incoming, outgoing }).catch((error) => outgoing.destroy(error))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
  }

interface Proxied {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

async function forward(upstream: string, wrong: Forwarding, { incoming, outgoing }: Proxied): Promise<void> {
  const answer = await request(`${upstream}${incoming.url}`, {
    method: 'POST',
    body: Buffer.concat(await incoming.toArray()),
    headers: { 'content-type': 'application/json' },
  })
  const text = await answer.body.text()
  for (const [name, value] of Object.entries(answer.headers)) {
    if (/^(?:content-type|vary|x-druid-.*)$/.test(name)) outgoing.setHeader(name, value!)
  }
  outgoing.setHeader('cache-status', `windowpane; detail="${wrong.claim}"`)
  outgoing.statusCode = answer.statusCode
  outgoing.end(answer.statusCode === 200 ? (wrong.answer?.(text) ?? text) : text)
}

/** A tail that is off by one. */
export const losesLastRow = (body: string): string =>
  body.replace(/,\{"(?:timestamp|version|t)":[^[]*\]/, ']')

export function printsAnew(body: string): string {
  const lines = body.trimEnd().split('\n')
  const isJson = lines.every((line) => /^[[{].*[\]}]$/.test(line))
  return isJson ? body.replace(/[[{].*[\]}]/g, (line) => JSON.stringify(JSON.parse(line))) : body
}
