/** Where the rows of an object are. Its partition is named by tenant and key, and no text of either can name another one. */
import { hash } from 'node:crypto'
import type { CellId } from '../../stores/cells.ts'
import type { ObjectKey } from './objects.ts'

/** An object as the cache handles it. */
export interface ObjectName {
  /** Names the object in this process and in the store. */
  readonly pk: string
  /** As it stands in the names of rows. */
  readonly tenant: string
  readonly keyHash: string
  readonly tagHashes: readonly string[]
}

/** Of objects that are named by a text alone. */
const defaultTenant = 'default'
/** Row names have a limit of 400 bytes, and longer tenants are hashed. */
const maxTenantLength = 160

export function nameOf(key: string | ObjectKey): ObjectName {
  const { tenant, key: text, tags = [] } = typeof key === 'string' ? { tenant: defaultTenant, key } : key
  const escaped = escapedTenant(tenant)
  const keyHash = sha256Of(text)
  return { pk: `TENANT#${escaped}#CACHE#${keyHash}`, tenant: escaped, keyHash, tagHashes: tags.map(sha256Of) }
}

/** Percent-encoded, so that no `#` is left. A colon is in no encoded text, so that no tenant looks like a hashed one. */
export function escapedTenant(tenant: string): string {
  const escaped = tenant.isWellFormed() ? encodeURIComponent(tenant) : undefined
  return escaped === undefined || escaped.length > maxTenantLength ? `sha256:${sha256Of(tenant)}` : escaped
}

/** Texts with a half of a surrogate pair have no UTF-8 of their own: they would all be hashed as the same bytes. */
export const sha256Of = (text: string): string =>
  hash('sha256', text.isWellFormed() ? text : Buffer.concat([malformed, Buffer.from(text, 'utf16le')]))

/** In no UTF-8 text. */
const malformed = Buffer.of(0xff)

export const metaId = (pk: string): CellId => ({ pk, sk: 'META' })
export const lockId = (pk: string): CellId => ({ pk, sk: 'LOCK' })
export const chunkId = (pk: string, version: string, index: number): CellId => ({
  pk,
  sk: `VER#${version}#${String(index).padStart(5, '0')}`,
})
export const generationsPk = (tenant: string): string => `TENANT#${tenant}#GENERATIONS`

/** Strong: it changes with every byte of the body. */
export const etagOf = (body: Uint8Array): string => `"${hash('sha256', body, 'base64url').slice(0, 27)}"`
