import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differenceFrom } from './difference.ts'

const data =
  '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"warnings":"x"},"values":[[1,"2"]]}]}'
const answer = (tail = '', body = data): Buffer => Buffer.from(`${body}${tail}}`)
const warnings = (...texts: string[]): string => `,"warnings":${JSON.stringify(texts)}`
const infos = (...texts: string[]): string => `,"infos":${JSON.stringify(texts)}`
const a = 'PromQL warning: a (1:1)'
const b = 'PromQL warning: b (1:2)'

const forced = (by: string): string =>
  `PromQL info: input to histogram_quantile needed to be fixed for monotonicity by ${by} for metric "m1" (1:20)`

const cases: readonly [name: string, direct: Buffer, answer: Buffer, difference: string][] = [
  ['equal bytes', answer(), answer(), 'none'],
  ['notes and a line feed', answer(`${warnings(a, b)}}\n`).subarray(0, -1), answer(warnings(b, a)), 'none'],
  ['another value', answer(), answer('', data.replace('"2"', '"3"')), 'data'],
  ['notes in another order', answer(warnings(a, b)), answer(warnings(b, a)), 'none'],
  ['more notes than the database has', answer(warnings(a)), answer(warnings(b, a) + infos(a)), 'none'],
  ['notes where the database has none', answer(), answer(infos(a)), 'none'],
  ['a note is missing', answer(warnings(a, b)), answer(warnings(a)), 'notes'],
  ['all notes are missing', answer(infos(a)), answer(), 'notes'],
  ['a note in the wrong list', answer(warnings(a)), answer(infos(a)), 'notes'],
  ['numbers that belong to a part', answer(infos(forced('2.1e-9'))), answer(infos(forced('7'))), 'none'],
  ['a random ten of many', answer(infos(a, '3 more info annotations omitted')), answer(infos(b)), 'none'],
  ['none of many', answer(infos(a, '3 more info annotations omitted')), answer(), 'notes'],
  ['another value and other notes', answer(warnings(a)), answer('', data.replace('"2"', '"3"')), 'data'],
  ['a trailer that is no list of notes', answer(',"infos":[1]'), answer(), 'data'],
]

for (const [name, direct, other, difference] of cases) {
  test(`${name}: ${difference}`, () => assert.equal(differenceFrom(direct, other), difference))
}

test('hostile bodies are different, not an exception', () => {
  for (const text of ['', '}', ',"warnings":[', ',"infos":["', '{"a":1,"infos":[]}']) {
    assert.equal(differenceFrom(Buffer.from(text), Buffer.from('{"b":2}')), 'data')
  }
})
