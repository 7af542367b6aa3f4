/**
 * Laws of cells about many clients at once. A random batch of operations runs concurrently; their results and the final
 * state must equal those of some sequential order (linearizability).
 */
import assert from 'node:assert/strict'
import type { CellId, Cells, Condition, Revision } from '../stores/cells.ts'
import { pick, type Random, seededRandom, wholeNumber } from './random.ts'
import { draftOf, textOf } from './store-laws-cells.ts'
import type { CellLaw } from './test-store.ts'

const ids: readonly CellId[] = [
  { pk: 'p', sk: 'a' },
  { pk: 'p', sk: 'b' },
]

/** `seen`: the condition is on the revision that the row had before the batch. */
type When = 'absent' | 'expired' | 'seen'
type Operation =
  | { readonly kind: 'put'; readonly row: number; readonly when: When }
  | { readonly kind: 'remove'; readonly row: number; readonly when: When }
  | { readonly kind: 'publish'; readonly when: readonly [When, When] }

/** Batches one after the other; within a batch everything is concurrent. */
function someHistory(random: Random): Operation[][] {
  const when = (): When => pick(random, ['absent', 'expired', 'seen'] as const)
  const operation = (): Operation => {
    const kind = pick(random, ['put', 'remove', 'publish'] as const)
    return kind === 'publish'
      ? { kind, when: [when(), when()] }
      : { kind, row: wholeNumber(random, 0, 1), when: when() }
  }
  const batch = () => Array.from({ length: wholeNumber(random, 1, 4) }, operation)
  return Array.from({ length: wholeNumber(random, 1, 5) }, batch)
}

/** A row in the model: its writer, and whether that was in this batch (no revision from before matches it). */
interface ModelRow {
  readonly text: string
  readonly isNew: boolean
}
type Model = readonly [ModelRow | undefined, ModelRow | undefined]

function isMet(condition: When, stored: ModelRow | undefined): boolean {
  if (condition === 'absent') return stored === undefined
  // Leases of the test run out at once: an existing one is expired.
  if (condition === 'expired') return true
  return stored !== undefined && !stored.isNew
}

/** The model after an operation, and whether it succeeded. */
function step(model: Model, op: Operation, text: string): readonly [Model, boolean] {
  const fresh = { text, isNew: true }
  if (op.kind === 'publish') {
    const isOk = isMet(op.when[0], model[0]) && isMet(op.when[1], model[1])
    return [isOk ? [fresh, undefined] : model, isOk]
  }
  const stored = model[op.row]
  const isOk = isMet(op.when, stored) && (op.kind === 'put' || stored !== undefined)
  if (!isOk) return [model, false]
  const after = op.kind === 'put' ? fresh : undefined
  return [op.row === 0 ? [after, model[1]] : [model[0], after], true]
}

function* orders<T>(items: readonly T[]): Iterable<readonly T[]> {
  if (items.length === 0) yield []
  for (let i = 0; i < items.length; i++)
    for (const rest of orders(items.toSpliced(i, 1))) yield [items[i]!, ...rest]
}

interface Batch {
  readonly operations: readonly Operation[]
  readonly results: readonly boolean[]
  readonly texts: readonly string[]
}

/** Models that some order of the batch leads to with exactly these results. */
function* explanations(before: Model, batch: Batch): Iterable<Model> {
  for (const order of orders([...batch.operations.keys()])) {
    let model = before
    const isRight = order.every((i) => {
      const [next, isOk] = step(model, batch.operations[i]!, batch.texts[i]!)
      model = next
      return isOk === batch.results[i]
    })
    if (isRight) yield model
  }
}

async function perform(
  cells: Cells,
  op: Operation,
  given: { text: string; revs: readonly Revision[] },
): Promise<boolean> {
  const condition = (index: number, is: When): Condition => {
    if (is === 'absent') return { is }
    if (is === 'expired') return { is, deadline: 'leaseUntil' }
    return { is: 'revision', rev: given.revs[index]! }
  }
  const draft = draftOf(given.text)
  if (op.kind === 'put') return (await cells.put(ids[op.row]!, draft, condition(op.row, op.when))).ok
  if (op.kind === 'remove') return await cells.remove(ids[op.row]!, condition(op.row, op.when))
  const changes = [
    { id: ids[0]!, put: draft, if: condition(0, op.when[0]) },
    { id: ids[1]!, remove: true as const, if: condition(1, op.when[1]) },
  ]
  return (await cells.publish(changes)).ok
}

const textsOf = (model: Model): readonly (string | undefined)[] => model.map((stored) => stored?.text)

async function checkHistory(cells: Cells, batches: readonly (readonly Operation[])[]): Promise<void> {
  let model: Model = [undefined, undefined]
  for (const [b, operations] of batches.entries()) {
    const rows = await Promise.all(ids.map((id) => cells.get(id, 1)))
    const revs = rows.map((cell) => cell?.rev ?? 'none')
    const texts = operations.map((_, i) => `${b}.${i}`)
    const results = await Promise.all(
      operations.map((op, i) => perform(cells, op, { text: texts[i]!, revs })),
    )
    const after = (await Promise.all(ids.map((id) => cells.get(id, 1)))).map(textOf)
    const before: Model = [aged(model[0]), aged(model[1])]
    const found = [...explanations(before, { operations, results, texts })].find(
      (one) => JSON.stringify(textsOf(one)) === JSON.stringify(after),
    )
    assert.ok(found, `no order of batch ${b} gives ${JSON.stringify({ operations, results, after })}`)
    model = found
  }
}

const aged = (stored: ModelRow | undefined): ModelRow | undefined => stored && { ...stored, isNew: false }

export const cellConcurrencyLaws: Readonly<Record<string, CellLaw>> = {
  async 'concurrent operations are as if done one after the other'({ rounds, another }) {
    for (let seed = 1; seed <= rounds; seed++)
      await checkHistory(await another(), someHistory(seededRandom(seed)))
  },

  async 'of many contenders for a lease exactly one has it, time after time'({ cells, clock }) {
    for (let round = 0; round < 5; round++) {
      const draft = (i: number) => draftOf(String(i), { clocks: { leaseUntil: clock.now() + 1000 } })
      const tries = Array.from({ length: 20 }, (_, i) =>
        cells.put(ids[0]!, draft(i), { is: 'expired', deadline: 'leaseUntil' }),
      )
      const won = (await Promise.all(tries)).filter(({ ok }) => ok)
      assert.equal(won.length, 1)
      await clock.advance(1000)
    }
  },
}
