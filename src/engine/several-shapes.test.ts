/** Dashboards of many panels on nodes that share a store: its write queue fills, and nodes still act as one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'

const windowCells = 30
const boards = 4
const refreshMs = 10_000
const measuredMs = 2 * minuteMs

interface Result {
  readonly queries: number
  readonly wrong: number
  readonly served: number
}

class Wall {
  readonly fleet: FleetRig
  readonly tally = { wrong: 0, served: 0 }
  readonly #panels: number

  /** Each operation of the store takes 50 ms. */
  constructor(nodes: number, panels: number) {
    this.fleet = new FleetRig({ nodes, network: { delayMs: () => 25 } })
    this.fleet.database.lagMs = 300
    this.#panels = panels
  }

  /** One board requests all of its panels. */
  show(board: number): void {
    const { nodes } = this.fleet
    for (let panel = 0; panel < this.#panels; panel++) void this.#look(nodes[board % nodes.length]!, panel)
  }

  async #look(node: EngineRig, panel: number): Promise<void> {
    const to = node.openCell + minuteMs
    const from = to - windowCells * minuteMs
    const { text } = await node.serve(node.planOf(`q=up${panel}&from=${from}&to=${to}&step=${minuteMs}`))
    this.tally.served++
    if (text !== node.truth(windowCells, to)) this.tally.wrong++
  }
}

/** Boards that are opened one after the other, each sooner than the flights of the one before have landed. */
async function openBoards(nodes: number, panels: number): Promise<Result> {
  const wall = new Wall(nodes, panels)
  const { clock, database } = wall.fleet
  for (let board = 0; board < boards; board++) {
    wall.show(board)
    await clock.advance(100)
  }
  await clock.advance(20_000)
  return { ...wall.tally, queries: database.asked.length }
}

/** Boards that refresh themselves: at nearly the same time, or as the panes of the one before are written. */
async function keepBoards(nodes: number, apartMs: number): Promise<Result> {
  const wall = new Wall(nodes, 100)
  const { clock, database } = wall.fleet
  let isOver = false
  for (let board = 0; board < boards; board++) {
    const refresh = () => {
      if (isOver) return
      wall.show(board)
      clock.after(refreshMs, refresh)
    }
    clock.after(1000 + board * apartMs, refresh)
  }
  await clock.advance(minuteMs)
  database.asked.length = 0
  await clock.advance(measuredMs)
  const queries = database.asked.length
  // Requests under way finish.
  isOver = true
  await clock.advance(minuteMs)
  return { ...wall.tally, queries }
}

// Before the first test is registered: from then on the runner follows every promise, which costs ten times as much.
const results: (readonly [string, Result, Result])[] = []
for (const panels of [60, 100, 200])
  results.push([`${panels} panels, opened`, await openBoards(1, panels), await openBoards(boards, panels)])
for (const apartMs of [60, 500])
  results.push([
    `100 panels, refreshed ${apartMs} ms apart`,
    await keepBoards(1, apartMs),
    await keepBoards(boards, apartMs),
  ])

for (const [name, one, several] of results) {
  test(`${name}: ${boards} nodes send at most 1.2 times the queries of one node with all boards`, (t) => {
    t.diagnostic(`one node ${one.queries}, ${boards} nodes ${several.queries}`)
    assert.deepEqual([one.wrong, several.wrong], [0, 0])
    assert.equal(several.served, one.served)
    assert.ok(several.queries <= 1.2 * one.queries, `${several.queries} of ${one.queries}`)
  })
}
