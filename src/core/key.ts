/** The key: which questions share buckets. Equal question on an equal grid for an equal identity, and only then. */
import { hash } from 'node:crypto'
import type { Grid } from './grid.ts'

/** 43 characters: SHA-256 in base64url. */
export type Key = string

export interface KeyParts {
  readonly backend: string
  /** Who may share answers; '' where everybody may. */
  readonly identity: string
  readonly shape: string
  readonly grid: Grid
}

/** Lengths stand before the free texts, so that no two different lists of parts give the same text. */
export function keyOf({ backend, identity, shape, grid }: KeyParts): Key {
  const text = `1 ${grid.kind} ${grid.step} ${grid.origin} ${backend.length} ${identity.length} ${backend}${identity}${shape}`
  return hash('sha256', text, 'base64url')
}
