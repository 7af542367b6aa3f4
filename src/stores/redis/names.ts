/** Names of keys. The part in braces (hash tag) decides on which node of a cluster a key is. */
import type { Key } from '../../core/key.ts'

/** Of the layout that rows.ts and cells.ts describe. */
const layoutVersion = 1

export type RowNames = ReturnType<typeof rowNames>

export function rowNames(prefix: string) {
  const start = `${prefix}:${layoutVersion}:{`
  return {
    key: (key: Key) => `${start}${key}}`,
    slice: (key: Key, slice: number) => `${start}${key}}:${slice}`,
    clocks: (key: Key, slice: number) => `${start}${key}}:${slice}:clocks`,
    /** For SCAN: the names that `key` returns. */
    keyPattern: `${start}*}`,
    /** The key in a name that `key` returned. */
    keyIn: (name: string): Key | undefined =>
      name.startsWith(start) && name.endsWith('}') ? name.slice(start.length, -1) : undefined,
  }
}

export type CellNames = ReturnType<typeof cellNames>

export function cellNames(prefix: string) {
  const start = `${prefix}:cells:${layoutVersion}:{`
  return {
    list: (pk: string) => `${start}${braceless(pk)}}`,
    cell: (pk: string, sk: string) => `${start}${braceless(pk)}}:${sk}`,
  }
}

/** A brace inside would end the hash tag: cells of one partition could lie on several nodes. */
const braceless = (pk: string): string =>
  pk.replaceAll(/[%{}]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
