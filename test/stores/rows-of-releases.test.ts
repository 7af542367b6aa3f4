/**
 * Small rows as a release wrote them (fixtures/rows-VERSION.json): they are read by this one, also with members that
 * were added later, and are absent where their version is another. A change that makes the first test fail needs another
 * version of the row, or a new fixture beside the old one, which must stay readable.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Mark } from '../../src/core/mark.ts'
import { ClaimRows } from '../../src/engine/claim-rows.ts'
import { Marks } from '../../src/engine/marks.ts'
import { ModeRow } from '../../src/proxy/fleet/mode-row.ts'
import { NodeRows } from '../../src/proxy/fleet/node-rows.ts'
import type { NodeSummary } from '../../src/proxy/fleet/summary.ts'
import type { Cell, CellDraft, Cells } from '../../src/stores/cells.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { scratchStore } from './scratch.ts'

const start = Date.UTC(2026, 0, 1)
const key = 'k'.repeat(43)
const retentionMs = 86_400_000
const partitions = ['marks', `claim#${key}`, 'fleet', 'nodes', 'node-summaries']

const mark: Mark = {
  ...{ kind: 'purge', backend: 'main', source: 'up', from: start - 7_200_000, to: start - 3_600_000 },
  at: start,
}
const flight = {
  ...{
    token: 't',
    node: 'n',
    intervals: [{ from: 10, to: 20 }],
    startedAt: start,
    leaseUntil: start + 15_000,
  },
  isAwaited: true,
}
const setMode = { main: { id: 'm', mode: 'shadow', at: start } } as const
const facts = {
  ...{ id: 'node-1', name: 'a', admin: 'http://a:9192', version: '0.1.0', pid: 7, startedAt: start },
}
const summary: NodeSummary = {
  at: start,
  memory: { used: 1, limit: 2 },
  totals: {
    ...{ requests: { hit: 9, miss: 1 }, buckets: { cache: 90, origin: 10 }, queries: 1, failedQueries: 0 },
    durations: [0, 9, 0, 1],
  },
  backends: [
    {
      ...{ name: 'main', mode: 'shadow', isOverridden: true },
      shadow: {
        figures: {
          ...{ since: start, comparisons: 3, equal: 2, explained: 1, unexplained: 0, skipped: { busy: 1 } },
          ...{ wouldBe: { hit: 2, partial: 1, miss: 0 }, causes: { late_data: 1 } },
        },
        examples: [
          {
            ...{
              id: '1',
              at: start,
              backend: 'main',
              text: 'up',
              window: { from: 0, to: 60_000, step: 1000 },
            },
            ...{ cause: 'late_data', isExplained: true, sentence: 'Data came late.' },
          },
        ],
      },
    },
  ],
  shapes: [
    {
      ...{ shape: 'up', key, backend: 'main', stepMs: 60_000, phaseMs: 0, calendar: undefined, since: start },
      ...{ lastAt: start, count: 10, outcomes: { hit: 9, miss: 1 }, bytes: 1000, totalSeconds: 1 },
      ...{ savedSeconds: 9, asked: 1, askedSeconds: 0.5, notCached: undefined },
    },
  ],
}

type FixedRow = Omit<CellDraft, 'value'> & {
  readonly pk: string
  readonly sk: string
  readonly value: string
}

async function writeAll(cells: Cells, clock: FakeClock): Promise<void> {
  const marks = new Marks({ clock, retentionMs, cells })
  assert.ok(await marks.add(mark))
  marks.close()
  const claims = new ClaimRows({ cells, clock })
  assert.ok(await claims.write(await claims.read(key), [flight]))
  assert.ok(await new ModeRow(cells).change(() => setMode))
  const nodes = new NodeRows({ cells, clock })
  assert.ok((await nodes.beat(facts, 5000)) && (await nodes.summarize(facts.id, summary)))
}

/** Everything, as the users of the rows read it. */
async function readAll(cells: Cells, clock: FakeClock): Promise<object> {
  const marks = new Marks({ clock, retentionMs, cells })
  await marks.load()
  marks.close()
  const nodes = new NodeRows({ cells, clock })
  return {
    marks: marks
      .list()
      .map(({ kind, backend, source, from, to, at }) => ({ kind, backend, source, from, to, at })),
    flights: (await new ClaimRows({ cells, clock }).read(key)).flights.map(
      ({ token, intervals, isAwaited }) => ({
        ...{ token, intervals, isAwaited },
      }),
    ),
    modes: Object.entries(await new ModeRow(cells).read()).map(([name, { id, mode }]) => [name, id, mode]),
    nodes: await nodes.list(),
    summaries: [...(await nodes.summaries())],
  }
}

const everything = {
  marks: [mark],
  flights: [{ token: 't', intervals: flight.intervals, isAwaited: true }],
  modes: [['main', 'm', 'shadow']],
  nodes: [{ ...facts, beatAt: start, leaseUntil: start + 20_000 }],
  summaries: [[facts.id, summary]],
}

const nothing = { marks: [], flights: [], modes: [], nodes: [], summaries: [] }

async function fixture(): Promise<readonly FixedRow[]> {
  return JSON.parse(await readFile(join(import.meta.dirname, 'fixtures/rows-0.1.0.json'), 'utf8'))
}

async function rowsIn(cells: Cells): Promise<FixedRow[]> {
  const lists = await Promise.all(partitions.map(async (pk) => ({ pk, rows: await cells.list(pk, 1) })))
  return lists.flatMap(({ pk, rows }) => rows.map(([sk, cell]) => fixed(pk, sk, cell)))
}

const fixed = (pk: string, sk: string, { rev, levels, value, ...draft }: Cell): FixedRow => ({
  ...{ pk, sk, ...draft, value: Buffer.from(value).toString() },
})

async function put(cells: Cells, rows: readonly FixedRow[]): Promise<void> {
  for (const { pk, sk, value, ...draft } of rows) {
    const outcome = await cells.put({ pk, sk }, { ...draft, value: Buffer.from(value) }, { is: 'absent' })
    assert.ok(outcome.ok, `${pk} ${sk}`)
  }
}

/** On the engine of the tests, and in a file. */
async function onEngines(
  t: TestContext,
  run: (cells: Cells, clock: FakeClock) => Promise<void>,
): Promise<void> {
  const clock = fakeClock(start)
  await run(memoryCells({ clock }), clock)
  const store = await scratchStore({ clock })
  t.after(() => store.close())
  await run(store.cells, clock)
}

test('this release writes the rows that the fixture has', async (t) => {
  await onEngines(t, async (cells, clock) => {
    await writeAll(cells, clock)
    assert.deepEqual(JSON.parse(JSON.stringify(await rowsIn(cells))), await fixture())
  })
})

test('rows of the fixture are read', async (t) => {
  await onEngines(t, async (cells, clock) => {
    await put(cells, await fixture())
    assert.deepEqual(await readAll(cells, clock), everything)
  })
})

test('members and attributes that a later release has added are no obstacle', async (t) => {
  const added = { addedLater: { deep: [1, 2] } }
  const grown = (value: string): string => {
    if (value === '') return value
    const read = JSON.parse(value) as object
    const isList = Array.isArray(read)
    return JSON.stringify(isList ? read.map((each) => ({ ...each, ...added })) : { ...read, ...added })
  }
  const rows = (await fixture()).map((row) => ({
    ...{ ...row, value: grown(row.value), attributes: { ...row.attributes, added_later: 1 } },
  }))
  await onEngines(t, async (cells, clock) => {
    await put(cells, rows)
    assert.deepEqual(await readAll(cells, clock), everything)
  })
})

test('rows of another version are absent, and unreadable rows are ignored', async (t) => {
  const rows = await fixture()
  await onEngines(t, async (cells, clock) => {
    await put(
      cells,
      rows.map((row) => ({ ...row, v: 2 })),
    )
    assert.deepEqual(await readAll(cells, clock), nothing)
  })
  await onEngines(t, async (cells, clock) => {
    await put(
      cells,
      rows.map(({ attributes: _, ...row }) => ({ ...row, value: row.sk === 'head' ? '' : '{"at"' })),
    )
    assert.deepEqual(await readAll(cells, clock), nothing)
  })
})
