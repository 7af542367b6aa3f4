/** A shape as people recognise it, whatever database it is of. */
import { kindNames, kinds } from '../backends/kinds.ts'
import { oneLine } from './text.ts'

/** The shape of an unplanned request is a text already. */
export function shapeText(shape: string): string {
  for (const name of kindNames) {
    const text = kinds[name].shapeText(shape)
    if (text !== undefined) return oneLine(text)
  }
  return oneLine(shape)
}
