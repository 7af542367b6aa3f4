/**
 * Memoises keys: requests repeat, and hashing one takes longer than a lookup in memory. By values only: a backend may
 * make a new grid for every plan. Unlike in core/memo.ts shapes are not copied: they are made by backends and keep no
 * reference to a request, and the text object that was given last is found fastest.
 */
import { type Grid, isSameGrid } from '../core/grid.ts'
import { type Key, keyOf } from '../core/key.ts'
import { TwoGenerations } from '../core/memo.ts'

interface KnownKey {
  readonly identity: string
  readonly grid: Grid
  readonly key: Key
}

const longestShape = 16 << 10
const mostShapes = 4_000
const mostCharacters = 4 << 20
/** Of one shape: viewers who share nothing, and windows that begin anywhere. */
const mostKeys = 8

export class KeyMemo {
  readonly #backend: string
  readonly #shapes = new TwoGenerations<string, KnownKey[]>(mostShapes, mostCharacters)

  constructor(backend: string) {
    this.#backend = backend
  }

  keyOf(shape: string, grid: Grid, identity: string): Key {
    if (shape.length > longestShape) return keyOf({ backend: this.#backend, identity, shape, grid })
    const known = this.#shapes.young(shape) ?? this.#remember(shape)
    for (const each of known) {
      if (each.identity === identity && isSameGrid(each.grid, grid)) return each.key
    }
    const key = keyOf({ backend: this.#backend, identity, shape, grid })
    if (known.length === mostKeys) known.pop()
    known.unshift({ identity, grid, key })
    return key
  }

  #remember(shape: string): KnownKey[] {
    const known = this.#shapes.old(shape) ?? []
    this.#shapes.add(shape, known, shape.length)
    return known
  }
}
