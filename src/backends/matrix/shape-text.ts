/** A shape as people recognise it: its query, and its other parameters. */
import { rangeQueryPath } from './paths.ts'

/** Shapes are JSON of path, query, step and other parameters. */
export function shapeText(shape: string): string | undefined {
  const planned = readPlanned(shape)
  if (planned === undefined) return undefined
  const [, query, , ...others] = planned
  const rest = others.map((each) => (Array.isArray(each) ? ` ${each.join('=')}` : '')).join('')
  return `${String(query)}${rest}`
}

function readPlanned(shape: string): unknown[] | undefined {
  if (!shape.startsWith('["')) return undefined
  try {
    const parts: unknown = JSON.parse(shape)
    return Array.isArray(parts) && parts[0] === rangeQueryPath ? parts : undefined
  } catch {
    // A long one is cut.
    return undefined
  }
}
