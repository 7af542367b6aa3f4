/** Whether an answer is all there. Druid sends status 200 before it has the rows, and breaks off where it then fails. */
import { bufferOf } from '../../core/bytes.ts'
import type { ResponseEnds } from '../backend.ts'
import { scannerOf } from './rows.ts'
import type { Ending } from './whole-reading.ts'
import { hasContext, isReportedIncomplete } from './wire.ts'

export function isWholeAnswer(ending: Ending, body: Uint8Array, response: ResponseEnds): boolean {
  if (isReportedIncomplete(response) || hasContext(response)) return false
  return ending.container === 'list' ? isList(ending, body) : isLines(ending, body)
}

const openBracket = 0x5b

function isList({ end }: Ending, body: Uint8Array): boolean {
  if (body[0] !== openBracket) return false
  // The list is read as if it were one row: up to the bracket that closes it.
  const scanner = scannerOf({ row: 'array', time: 0 })
  scanner.begin(0)
  const behind = scanner.find(body, body.length)
  return behind > 0 && isEqual(body, behind, end)
}

/** Lines end with an empty one; csv without any row is that alone. */
function isLines({ row, end }: Ending, body: Uint8Array): boolean {
  const isEnded = isEqual(body, body.length - end.length - 1, `\n${end}`)
  return row === 'csv' ? (isEnded || isEqual(body, 0, end)) && hasEvenQuotes(body) : isEnded
}

const quote = 0x22

/** With an odd number of quotes, csv ends within a field. */
function hasEvenQuotes(body: Uint8Array): boolean {
  let isEven = true
  for (let at = body.indexOf(quote); at >= 0; at = body.indexOf(quote, at + 1)) isEven = !isEven
  return isEven
}

const isEqual = (body: Uint8Array, from: number, text: string): boolean =>
  from >= 0 && bufferOf(body).subarray(from).equals(Buffer.from(text))
