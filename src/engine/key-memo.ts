/**
 * Memoises keys: requests repeat, and hashing one takes longer than a lookup in memory. By values only: a backend may
 * make a new grid for every plan. Two generations as in core/memo.ts, but without copies: shapes are made by backends
 * and keep no reference to a request, and the text object that was given last is found fastest.
 */
import { type Grid, isSameGrid } from '../core/grid.ts'
import { type Key, keyOf } from '../core/key.ts'

interface KnownKey {
  readonly identity: string
  readonly grid: Grid
  readonly key: Key
}

const longestShape = 16 << 10
/** Of one generation. */
const mostShapes = 2_000
const mostCharacters = 2 << 20
/** Of one shape: viewers who share nothing, and windows that begin anywhere. */
const mostKeys = 8

export class KeyMemo {
  readonly #backend: string
  #young = new Map<string, KnownKey[]>()
  #old = this.#young
  #characters = 0

  constructor(backend: string) {
    this.#backend = backend
  }

  keyOf(shape: string, grid: Grid, identity: string): Key {
    if (shape.length > longestShape) return keyOf({ backend: this.#backend, identity, shape, grid })
    const known = this.#young.get(shape) ?? this.#remember(shape)
    for (const each of known) {
      if (each.identity === identity && isSameGrid(each.grid, grid)) return each.key
    }
    const key = keyOf({ backend: this.#backend, identity, shape, grid })
    if (known.length === mostKeys) known.pop()
    known.unshift({ identity, grid, key })
    return key
  }

  #remember(shape: string): KnownKey[] {
    const known = this.#old.get(shape) ?? []
    if (this.#young.size >= mostShapes || this.#characters + shape.length > mostCharacters) {
      this.#old = this.#young
      this.#young = new Map()
      this.#characters = 0
    }
    this.#characters += shape.length
    this.#young.set(shape, known)
    return known
  }
}
