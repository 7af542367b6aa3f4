/** Collects the state that a worker starts with from the server of the main thread. */
import type { ServerInternals } from '../proxy/assembly/parts.ts'
import type { KnownCells } from './cells.ts'
import type { WorkerInit } from './messages.ts'

type ServerState = Pick<WorkerInit, 'via' | 'farStores' | 'cells' | 'marks' | 'modes' | 'known'>

export function serverStateOf({ storage, backendRuntimes, via }: ServerInternals): ServerState {
  const { names } = storage
  const partsOf = (store: string) => storage.partsOf(storage.of(store))
  const overridden = backendRuntimes.filter(({ modes }) => modes.state.isOverridden)
  return {
    via,
    farStores: names,
    cells: new Map(['', ...names].flatMap((name) => knownCells(name, partsOf(name).cells))),
    marks: new Map(['', ...names].map((name) => [name, partsOf(name).marks.list()])),
    modes: new Map(overridden.map(({ name, modes }) => [name, modes.state.mode])),
    known: new Map(
      backendRuntimes.map(({ name, flavour, witness, learning: { evidence } }) => [
        name,
        { flavour: flavour.current, vouched: witness?.vouched, evidence },
      ]),
    ),
  }
}

const knownCells = (store: string, cells: KnownCells | undefined): (readonly [string, KnownCells])[] =>
  cells === undefined ? [] : [[store, { name: cells.name, capabilities: cells.capabilities }]]
