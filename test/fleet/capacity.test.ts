import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { coresFor, dynamoDbPerMonth, readCosts } from '../../scripts/capacity/costs.ts'
import { dashboard, demandOf, queriesPerS, shapeDemand } from '../../scripts/capacity/model.ts'
import { bytesTable, demandTable } from '../../scripts/capacity/tables.ts'

const workload = { ...dashboard, nodes: 16, viewers: 1000, shapes: 10 }

test('one viewer who refreshes more slowly than the TTL causes a query per refresh', () => {
  assert.equal(queriesPerS(1, workload), 1 / workload.refreshS)
})

test('many viewers cause a query per TTL and one per new bucket', () => {
  const most = 1 / workload.ttlS + 1 / workload.stepS
  assert.ok(Math.abs(queriesPerS(1e6, workload) - most) < 1e-4)
  for (let viewers = 1; viewers < 1000; viewers++) {
    assert.ok(queriesPerS(viewers, workload) <= Math.min(most, viewers / workload.refreshS) + 1e-9)
    assert.ok(queriesPerS(viewers + 1, workload) >= queriesPerS(viewers, workload) - 1e-9)
  }
})

test('the database gets as many queries whatever the number of nodes, and the store as many per node', () => {
  const [few, many] = [demandOf({ ...workload, nodes: 10 }), demandOf({ ...workload, nodes: 100 })]
  assert.equal(few.queries, many.queries)
  assert.equal(few.writes, many.writes)
  assert.ok(many.reads > few.reads)
})

test('one node alone has nothing to do with a store', () => {
  const { reads, writes, cellReads, cellWrites, storeBytesOut } = demandOf({ ...workload, nodes: 1 })
  assert.deepEqual([reads, writes, cellReads, cellWrites, storeBytesOut], [0, 0, 0, 0, 0])
})

test('no node waits for the queries of a single one, and no more nodes wait than there are', () => {
  assert.equal(shapeDemand(1000, { ...workload, nodes: 1 }).waits, 0)
  const { waits, queries } = shapeDemand(1e9, workload)
  assert.ok(waits / queries <= workload.nodes - 1)
})

test('cores and prices follow from the costs', () => {
  const costs = readCosts()
  const demand = demandOf({ ...workload, nodes: 1 })
  const { hit, query } = costs.requestUs
  const expected = ((demand.requests - demand.queries) * hit + demand.queries * query) / 1e6
  assert.equal(coresFor(demand, costs, costs.stores['rows']!), expected)
  assert.ok(dynamoDbPerMonth(demandOf(workload), workload, costs) > 0)
})

test('the guide has the tables that the model prints', () => {
  const guide = readFileSync(new URL('../../docs/guide/scale.md', import.meta.url), 'utf8')
  const costs = readCosts()
  assert.ok(guide.includes(demandTable(costs)), 'run npm run bench:capacity and paste the first table')
  assert.ok(guide.includes(bytesTable(costs)), 'run npm run bench:capacity and paste the second table')
})
