/** Names of keys. The part in braces (hash tag) decides on which node of a cluster a key is. */
import type { Key } from '../../core/key.ts'

/** Of the layout that rows.ts and cells.ts describe. */
const layoutVersion = 1

export interface RowNames {
  key(key: Key): string
  slice(key: Key, slice: number): string
  clocks(key: Key, slice: number): string
  /** For SCAN: the names that `key` returns. */
  readonly keyPattern: string
  /** The key in a name that `key` returned. */
  readonly keyIn: (name: string) => Key | undefined
}

export function rowNames(prefix: string): RowNames {
  const start = `${prefix}:${layoutVersion}:{`
  return {
    key: (key) => `${start}${key}}`,
    slice: (key, slice) => `${start}${key}}:${slice}`,
    clocks: (key, slice) => `${start}${key}}:${slice}:clocks`,
    keyPattern: `${start}*}`,
    keyIn: (name) =>
      name.startsWith(start) && name.endsWith('}') ? name.slice(start.length, -1) : undefined,
  }
}

export interface CellNames {
  list(pk: string): string
  cell(pk: string, sk: string): string
}

export function cellNames(prefix: string): CellNames {
  const start = `${prefix}:cells:${layoutVersion}:{`
  return {
    list: (pk) => `${start}${braceless(pk)}}`,
    cell: (pk, sk) => `${start}${braceless(pk)}}:${sk}`,
  }
}

/** A brace inside would end the hash tag: cells of one partition could lie on several nodes. */
const braceless = (pk: string): string =>
  pk.replaceAll(/[%{}]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
