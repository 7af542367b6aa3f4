/** Whether an answer is all there. Druid sends status 200 before it has the rows, and breaks off where it then fails. */
import { bufferOf } from '../../core/bytes.ts'
import type { ResponseEnds } from '../backend.ts'
import { newline, scannerOf, tailOf } from './rows.ts'
import type { AnswerEnding } from './whole-reading.ts'
import { hasContext, isReportedIncomplete } from './wire.ts'

export function isWholeAnswer(ending: AnswerEnding, body: Uint8Array, response: ResponseEnds): boolean {
  if (isReportedIncomplete(response) || hasContext(response)) return false
  return ending.container === 'list' ? isList(ending, body) : isLines(ending, body)
}

const openBracket = 0x5b

function isList({ end }: AnswerEnding, body: Uint8Array): boolean {
  if (body[0] !== openBracket) return false
  // The list is read as if it were one row: up to the bracket that closes it.
  const scanner = scannerOf({ row: 'array', time: 0 })
  scanner.begin(0)
  const behind = scanner.find(body, body.length)
  return behind > 0 && isEqual(body, behind, end)
}

/** Whole rows, and behind the last one an empty line. */
function isLines(ending: AnswerEnding, body: Uint8Array): boolean {
  const { row, end } = ending
  const scanner = scannerOf({ row, time: 0 })
  let at = 0
  while (at < body.length - end.length && body[at] === (scanner.opening ?? body[at])) {
    scanner.begin(at)
    const behind = scanner.find(body, body.length)
    if (body[behind] !== newline) return false
    at = behind + 1
  }
  return isEqual(body, at, tailOf(ending, at))
}

const isEqual = (body: Uint8Array, from: number, text: string): boolean =>
  bufferOf(body).subarray(from).equals(Buffer.from(text))
