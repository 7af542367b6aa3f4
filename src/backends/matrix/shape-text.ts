/** A shape as people recognise it: its query, and its other parameters. */
import { jsonIn } from '../../core/json-object.ts'
import { rangeQueryPath } from './paths.ts'

/** Shapes are JSON of path, query, step and other parameters. */
export function shapeText(shape: string): string | undefined {
  const planned = readPlanned(shape)
  if (planned === undefined) return undefined
  const [, query, , ...others] = planned
  return `${String(query)}${others.map(textOf).join('')}`
}

/** Parameters are arrays; headers are an object. */
function textOf(part: unknown): string {
  if (Array.isArray(part)) return ` ${part.join('=')}`
  if (typeof part !== 'object' || part === null) return ''
  return Object.entries(part)
    .map(([name, value]) => ` ${name}: ${String(value)}`)
    .join('')
}

function readPlanned(shape: string): unknown[] | undefined {
  if (!shape.startsWith('["')) return undefined
  // A long one is cut, and no JSON.
  const parts = jsonIn(shape)
  return Array.isArray(parts) && parts[0] === rangeQueryPath ? parts : undefined
}
