/** A shape as people recognise it: its query, and what else the question has. */
import { oneLine } from './text.ts'

/** Shapes are JSON of path, query, step and other parameters; what was not planned is path and query. */
export function shapeText(shape: string): string {
  const planned = readPlanned(shape)
  if (planned === undefined) return oneLine(shape)
  const [, query, , ...others] = planned
  const rest = others.map((each) => (Array.isArray(each) ? ` ${each.join('=')}` : '')).join('')
  return oneLine(`${String(query)}${rest}`)
}

function readPlanned(shape: string): unknown[] | undefined {
  if (!shape.startsWith('["')) return undefined
  try {
    const parts: unknown = JSON.parse(shape)
    return Array.isArray(parts) && typeof parts[1] === 'string' ? parts : undefined
  } catch {
    // A long one is cut.
    return undefined
  }
}
