/**
 * How two matrix answers to one request differ: in their data, or only in `warnings` and `infos`. Execution members do not
 * count.
 */
import { bufferOf } from '../../core/bytes.ts'
import type { AnswerDifference } from '../backend.ts'
import { comparable, isCount, readAnnotations } from './annotations.ts'
import { lineFeed } from './wire.ts'

interface Split {
  /** Everything up to the notes. */
  readonly data: Buffer
  readonly notes: readonly string[]
}

export function differenceFrom(
  direct: Uint8Array,
  answer: Uint8Array,
  executionMembers: readonly string[] = [],
): AnswerDifference {
  const [own, other] = [direct, answer].map((body) => split(bufferOf(body), executionMembers)) as [
    Split,
    Split,
  ]
  if (!own.data.equals(other.data)) return 'data'
  return hasAllOf(other.notes, own.notes, 'w') && hasAllOf(other.notes, own.notes, 'i') ? 'none' : 'notes'
}

/** A label may be called `warnings`, but its value is a string: the bracket distinguishes them. */
function split(body: Buffer, executionMembers: readonly string[]): Split {
  const openings = [',"warnings":[', ',"infos":[', ...executionMembers.map((name) => `,"${name}":{`)]
  const cuts = openings.map((opening) => body.indexOf(opening)).filter((at) => at >= 0)
  // The bracket behind the last series: members of one execution may stand inside `data`, or behind it.
  const end = body.lastIndexOf(']', cuts.length === 0 ? body.length : Math.min(...cuts) - 1)
  const last = body.at(-1) === lineFeed ? body.length - 1 : body.length
  const notes =
    end < 0 ? undefined : readAnnotations(body.toString('utf8', end, last), executionMembers)?.notes
  // Text that is not notes is data.
  return notes === undefined ? { data: body, notes: [] } : { data: body.subarray(0, end), notes }
}

/** Whether a list has all of another one. Which ten of many are listed is random in every answer. */
function hasAllOf(notes: readonly string[], wanted: readonly string[], letter: 'w' | 'i'): boolean {
  const [has, needs] = [notes, wanted].map((all) => all.filter((note) => note.startsWith(letter)))
  if ([...has!, ...needs!].some(isCount)) return needs!.length === 0 || has!.length > 0
  const known = new Set(has!.map(comparable))
  return needs!.every((note) => known.has(comparable(note)))
}
