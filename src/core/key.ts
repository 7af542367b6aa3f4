/** The key: which questions share buckets. Equal question on an equal grid for an equal identity, and only then. */
import { hash } from 'node:crypto'
import type { Grid } from './grid.ts'

/** Which edition of the zone rules this runtime has: with other rules, buckets of one number begin at other instants. */
const zoneRules = process.versions['tz'] ?? ''

/** 43 characters: SHA-256 in base64url. */
export type Key = string

export interface KeyParts {
  readonly backend: string
  /** The identity partition; '' where all clients share answers. */
  readonly identity: string
  readonly shape: string
  readonly grid: Grid
}

/** Lengths stand before the free texts, so that no two different lists of parts give the same text. */
export function keyOf({ backend, identity, shape, grid }: KeyParts): Key {
  const text = `${textOf(grid)} ${backend.length} ${identity.length} ${backend}${identity}${shape}`
  return hash('sha256', text, 'base64url')
}

function textOf({ kind, step, origin, calendar }: Grid): string {
  if (calendar === undefined) return `1 ${kind} ${step} ${origin}`
  const { unit, count, zone } = calendar
  return `2 ${unit} ${count} ${calendar.origin} ${zone} ${zoneRules}`
}
