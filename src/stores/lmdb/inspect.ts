/**
 * Checks the file before LMDB maps it: the engine ends the process where a file is no database or is truncated, and a
 * cache must not do that. Deeper damage is found by the checksums, or by the markers.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const magic = 0xbeefc0de
const dataVersion = 2
/** Positions in a meta page, the page's own header included. */
const at = {
  magic: 24,
  version: 28,
  pageSize: 48,
  freeRoot: 88,
  mainRoot: 136,
  lastPage: 144,
  transaction: 152,
}
const metaBytes = 160
/** Pages at the end that were given back in the transaction that took them are never written. */
const unwrittenBytes = 1024 * 1024

/** Whether LMDB can open the file; one that is not there or empty it makes anew. */
export function isProbablyWhole(path: string): boolean {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return true
  }
  try {
    const { size } = fstatSync(file)
    return size === 0 || isWhole(file, size)
  } catch {
    return false
  } finally {
    closeSync(file)
  }
}

function isWhole(file: number, size: number): boolean {
  const first = metaAt(file, 0)
  if (first === undefined) return false
  const second = metaAt(file, first.pageSize)
  if (second?.pageSize !== first.pageSize) return false
  const { pageSize, roots, lastPage } = first.transaction > second.transaction ? first : second
  const pages = BigInt(Math.floor(size / pageSize))
  const none = 2n ** 64n - 1n
  const hasRoots = roots.every((root) => root === none || root < pages)
  return hasRoots && size + unwrittenBytes >= Number(lastPage + 1n) * pageSize
}

/** The meta page at a position; undefined where there is none. */
function metaAt(file: number, position: number) {
  const page = Buffer.alloc(metaBytes)
  if (readSync(file, page, 0, metaBytes, position) < metaBytes) return undefined
  const pageSize = page.readUInt32LE(at.pageSize)
  const isMeta = page.readUInt32LE(at.magic) === magic && page.readUInt32LE(at.version) === dataVersion
  if (!isMeta || pageSize < 256 || pageSize > 65_536) return undefined
  return {
    pageSize,
    roots: [page.readBigUInt64LE(at.freeRoot), page.readBigUInt64LE(at.mainRoot)],
    lastPage: page.readBigUInt64LE(at.lastPage),
    transaction: page.readBigUInt64LE(at.transaction),
  }
}
