/**
 * Reads a declaration: `{limits, resources: {NAME: limits}, entities: {NAME: {parent, limits, resources: {NAME: limits}}}}`, where
 * limits are a list of `{name, capacity, refill, every}`, as in the configuration, or texts such as `requests:100/min:200`. The members may
 * also be called as in the library (`refillAmount`, `refillPeriodSeconds`). Only name and capacity are required: the refill is
 * the capacity, every 60 s.
 */
import type { Declared } from './declaration.ts'
import type { Limit } from './limit.ts'
import { limitForm, readLimitText } from './limit-text.ts'
import { limitsMistake, nameMistake } from './names.ts'
import { type LimitTarget, targetMistake } from './registry-rows.ts'

export interface Misread {
  /** A sentence that begins with where the mistake is. */
  readonly mistake: string
}

const maxDeclared = 100_000
const tooMany = `at most ${maxDeclared} entries can be declared`
const setFields = ['limits', 'resources', 'entities']
const entityFields = ['parent', 'limits', 'resources']
const limitFields = ['name', 'capacity', 'refill', 'refillAmount', 'every', 'refillPeriodSeconds']

export const readDeclaration = (given: unknown): readonly Declared[] | Misread =>
  orMisread(() => {
    const declared = [...allIn(given)]
    checkTogether(declared)
    return declared
  })

/** Limits in a request or a declaration; `where` is how a mistake is introduced. */
export const readLimits = (given: unknown, where: string): readonly Limit[] | Misread =>
  orMisread(() => limitsIn(given, where))

function orMisread<T>(read: () => T): T | Misread {
  try {
    return read()
  } catch (error) {
    if (error instanceof MisreadError) return { mistake: error.message }
    throw error
  }
}

/** Ends the reading at the first mistake; never leaves this file. */
class MisreadError extends Error {}

function fail(where: string, sentence: string): never {
  throw new MisreadError(`${where}: ${sentence}`)
}

function* allIn(given: unknown): Iterable<Declared> {
  const { limits, resources, entities } = mapIn(given, 'the declaration', setFields)
  yield* setsIn({ limits, resources }, {}, 'limits')
  for (const [entity, value] of entriesIn(entities, 'entities')) {
    const where = `entities.${shown(entity)}`
    checkTarget({ entity }, where)
    const { parent, ...sets } = mapIn(value, where, entityFields)
    if (parent !== undefined) yield { entity, value: parentIn(parent, entity, where) }
    yield* setsIn(sets, { entity }, `${where}.limits`)
  }
}

function* setsIn(
  { limits, resources }: { limits?: unknown; resources?: unknown },
  owner: LimitTarget,
  where: string,
): Iterable<Declared> {
  if (limits !== undefined) yield { ...owner, value: limitsIn(limits, where) }
  const folder = where.replace(/limits$/, 'resources')
  for (const [resource, value] of entriesIn(resources, folder)) {
    const at = `${folder}.${shown(resource)}`
    checkTarget({ resource }, at)
    yield { ...owner, resource, value: limitsIn(value, at) }
  }
}

function limitsIn(given: unknown, where: string): readonly Limit[] {
  if (!Array.isArray(given))
    fail(where, `expected a list of limits, such as [{name, capacity}] or ["${limitForm}"]`)
  if (given.length > maxDeclared) fail(where, 'there are too many limits')
  const limits = given.map((each, i) => limitIn(each, `${where}[${i}]`))
  const mistake = limitsMistake(limits)
  return mistake === undefined ? limits : fail(where, mistake)
}

function limitIn(given: unknown, where: string): Limit {
  if (typeof given === 'string') {
    const limit = readLimitText(given)
    return 'mistake' in limit ? fail(where, limit.mistake) : limit
  }
  const fields = mapIn(given, where, limitFields)
  const { name, capacity, refill = capacity, refillAmount = refill, every = '60s' } = fields
  const { refillPeriodSeconds = secondsIn(every, where) } = fields
  // Values that are not whole numbers are found when the whole set is checked.
  return { name, capacity, refillAmount, refillPeriodSeconds } as Limit
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function secondsIn(given: unknown, where: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(String(given)) ?? []
  if (unit === undefined) fail(where, 'every is a time in whole seconds, such as 60s, 5m, 1h or 1d')
  return Number(count) * unitSeconds[unit]!
}

function parentIn(given: unknown, entity: string, where: string): string {
  const mistake =
    nameMistake('entity', given) ?? (given === entity ? 'an entity is not its own parent' : undefined)
  return mistake === undefined ? (given as string) : fail(`${where}.parent`, mistake)
}

function mapIn(given: unknown, where: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  const entries = entriesIn(given, where, `expected a map with ${known.join(', ')}`)
  const odd = entries.find(([name]) => !known.includes(name))
  if (odd !== undefined) fail(where, `"${shown(odd[0])}" is not known; expected ${known.join(', ')}`)
  return Object.fromEntries(entries)
}

function entriesIn(given: unknown, where: string, expected = 'expected a map'): readonly [string, unknown][] {
  if (given === undefined) return []
  if (typeof given !== 'object' || given === null || Array.isArray(given)) fail(where, expected)
  const entries = Object.entries(given)
  return entries.length > maxDeclared ? fail(where, tooMany) : entries
}

function checkTarget(target: LimitTarget, where: string): void {
  const mistake = targetMistake(target)
  if (mistake !== undefined) fail(where, mistake)
}

/** Names are written by people: a mistake shows no more of them than fits a line. */
const shown = (name: string): string => name.replaceAll(/\p{Cc}/gu, ' ').slice(0, 80)

function checkTogether(declared: readonly Declared[]): void {
  if (declared.length > maxDeclared) throw new MisreadError(tooMany)
  const parents = declared.filter(({ value }) => typeof value === 'string')
  const children = new Set(parents.map(({ entity }) => entity))
  const chain = parents.find(({ value }) => children.has(value as string))
  if (chain !== undefined)
    fail(`entities.${chain.entity}.parent`, `${chain.value} has a parent itself: only one is taken`)
}
