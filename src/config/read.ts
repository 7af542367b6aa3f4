/** Reads raw values by the definition: all problems at once, and a value with a source for every key. */

import { nearest } from '../core/suggest.ts'
import {
  isName,
  type Key,
  type List,
  type Named,
  type Plain,
  propertyOf,
  type RefusedValue,
  type Scalar,
  type Section,
  type Type,
  type Variants,
} from './definition.ts'
import { environmentName } from './names.ts'
import { withImpliedType, withShorthand, withSingleValue } from './shorthand.ts'
import {
  byDefault,
  emptyMap,
  isNothing,
  type Problem,
  type Raw,
  type RawMap,
  type RawScalar,
  type Source,
} from './source.ts'
import { expectedOf, itemExpected, join, shownName, shownRaw, tidied } from './words.ts'

const noMerging = 'merge keys are not used here: write the keys out, or use an alias (*) for a whole value'
/** A file may be read by others, and flags are seen by everybody who lists processes. */
const mayHoldSecrets = ({ kind }: Source): boolean => kind === 'env' || kind === 'argument'

export class Reader {
  readonly problems: Problem[] = []
  /** By path; keys that were given, and every scalar. */
  readonly sources = new Map<string, Source>()
  readonly #values = new Map<string, unknown>()
  readonly #names: (section: string) => readonly string[]

  /** `names` returns the names that exist in a section of named entries. */
  constructor(names: (section: string) => readonly string[]) {
    this.#names = names
  }

  /** Undefined where something is wrong; the problems have the details. */
  read(type: Type, raw: Raw | undefined, path: string): unknown {
    if (raw !== undefined) this.sources.set(path, raw.source)
    switch (type.kind) {
      case 'scalar':
        return raw === undefined ? undefined : this.#scalar(type, raw, path)
      case 'section':
        return this.#section(type, this.#mapOf(withSingleValue(type, raw), path), path)
      case 'variants':
        return this.#variants(type, this.#mapOf(raw, path), path)
      case 'named':
        return this.#named(type, this.#mapOf(raw, path), path)
      case 'list':
        return this.#list(type, raw, path)
    }
  }

  #addProblem(
    path: string,
    message: string,
    more: { source?: Source; suggestion?: string | undefined } = {},
  ): void {
    const { source = this.#locate(path), suggestion } = more
    this.problems.push({ path, source, message, ...(suggestion === undefined ? {} : { suggestion }) })
  }

  /** The nearest thing above a path that stands somewhere. */
  #locate(path: string): Source {
    for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
      const source = this.sources.get(at)
      if (source !== undefined && source.kind !== 'default') return source
      if (at === '') return byDefault
    }
  }

  #mapOf(raw: Raw | undefined, path: string): RawMap | undefined {
    if (raw === undefined || isNothing(raw)) return { ...emptyMap, source: raw?.source ?? byDefault }
    if (raw.kind === 'map') return raw
    const where = path === '' ? ' at the top level' : ''
    this.#addProblem(path, `expected a map of keys${where}, got ${shownRaw(raw)}`)
    return undefined
  }

  #section(type: Section, map: RawMap | undefined, path: string, tag?: string): unknown {
    if (map === undefined) return undefined
    this.#refuseUnknown(type, map, { path, tag })
    const value: Record<string, unknown> = tag === undefined ? {} : { type: tag }
    for (const [name, key] of Object.entries(type.keys)) {
      value[propertyOf(name, key)] = this.#key(key, map.entries.get(name)?.value, join(path, name))
    }
    for (const check of type.checks) {
      const needed = check.needs?.map((name) => join(path, name)) ?? [path]
      if (!needed.every((at) => this.#isSound(at))) continue
      check.run(value as never, (name, sentence) => this.#addProblem(join(path, name), sentence))
    }
    return value
  }

  #isSound(path: string): boolean {
    return !this.problems.some(
      (problem) => path === '' || problem.path === path || problem.path.startsWith(`${path}.`),
    )
  }

  #refuseUnknown(type: Section, map: RawMap, { path, tag }: { path: string; tag: string | undefined }): void {
    const known = tag === undefined ? Object.keys(type.keys) : ['type', ...Object.keys(type.keys)]
    for (const [name, { keySource }] of map.entries) {
      if (known.includes(name)) continue
      const reason =
        name === '<<' ? noMerging : Object.hasOwn(type.refused, name) ? type.refused[name] : undefined
      const kind = tag === undefined ? 'unknown key' : `unknown key of type ${tag}`
      const suggestion = reason === undefined ? nearest(name, known) : undefined
      const expected = `expected ${known.length > 1 ? 'one of ' : ''}${known.join(', ')}`
      const message = reason ?? (suggestion === undefined ? `${kind}; ${expected}` : kind)
      this.#addProblem(join(path, shownName(name)), message, { source: keySource, suggestion })
    }
  }

  #key(key: Key, raw: Raw | undefined, path: string): unknown {
    if (key.isSecret && raw !== undefined && !mayHoldSecrets(raw.source)) {
      this.sources.set(path, raw.source)
      const remedy = `put it into a file and name that with "${path.split('.').at(-1)}File", or set ${environmentName(path)}`
      return void this.#addProblem(path, `a secret does not belong here: ${remedy}`)
    }
    if (raw !== undefined || key.type.kind !== 'scalar') {
      if (raw === undefined && key.isRequired) return this.#missing(key, path)
      if (raw === undefined && key.type.kind === 'list') return this.#default(path, key.fallback)
      const value = this.read(key.type, raw, path)
      this.#values.set(path, value)
      return value
    }
    if (key.isRequired) return this.#missing(key, path)
    if (key.inherits === undefined) return this.#default(path, key.fallback)
    this.sources.set(path, this.sources.get(key.inherits) ?? byDefault)
    return this.#values.get(key.inherits)
  }

  #missing(key: Key, path: string): void {
    const expected = key.type.kind === 'list' ? itemExpected(key.type) : expectedOf(key.type)
    this.#addProblem(path, `is missing: expected ${expected}`)
  }

  #default(path: string, value: unknown): unknown {
    this.sources.set(path, byDefault)
    this.#values.set(path, value)
    return value
  }

  #variants(type: Variants, given: RawMap | undefined, path: string): unknown {
    if (given === undefined) return undefined
    const map = withShorthand(type, withImpliedType(type, given))
    if ('message' in map) {
      const { key, message, suggestion } = map
      const raw = given.entries.get(key)?.value
      return void this.#addProblem(join(path, key), message, {
        ...(raw && { source: raw.source }),
        suggestion,
      })
    }
    const tag = this.#key(type.tag, map.entries.get('type')?.value, join(path, 'type'))
    return typeof tag === 'string' ? this.#section(type.cases[tag]!, map, path, tag) : undefined
  }

  #named(type: Named, map: RawMap | undefined, path: string): unknown {
    if (map === undefined) return undefined
    const value: Record<string, unknown> = Object.create(null)
    for (const name of new Set([...type.builtIn, ...map.entries.keys()])) {
      const entry = map.entries.get(name)
      const at = join(path, shownName(name))
      if (entry !== undefined && !isName(name)) {
        const message =
          'expected a name of lower-case letters, digits and single dashes, such as main or eu-west-1'
        this.#addProblem(at, message, { source: entry.keySource, suggestion: tidied(name) })
      }
      value[name] = this.read(type.entry, entry?.value, at)
    }
    if (Object.keys(value).length < type.min && this.#isSound(path)) {
      this.#addProblem(path, `is missing: expected at least one ${type.expected}`)
    }
    return value
  }

  #list(type: List, raw: Raw | undefined, path: string): unknown {
    const isOne = raw?.kind === 'scalar' && raw.value !== null
    if (raw?.kind === 'map' || (isOne && type.item.kind !== 'scalar')) {
      return void this.#addProblem(path, `expected a list, got ${shownRaw(raw)}`)
    }
    const items = raw?.kind === 'list' ? raw.items : isOne ? [raw] : []
    if (items.length < type.min)
      return void this.#addProblem(path, `is empty: expected ${itemExpected(type)}`)
    return items.map((item, i) => this.read(type.item, item, join(path, String(i))))
  }

  #scalar(type: Scalar, raw: Raw, path: string): unknown {
    if (raw.kind !== 'scalar' || raw.value === null) {
      return void this.#addProblem(path, `expected ${type.expected}, got ${shownRaw(raw)}`)
    }
    const value = raw.isText && type.fromText ? type.fromText(String(raw.value)) : raw.value
    const exposed = mayHoldSecrets(raw.source) ? undefined : type.credentials?.(value)
    if (exposed !== undefined) return void this.#addProblem(path, exposed)
    const parsed = type.parse(value)
    if (parsed === undefined) return void this.#refuse(type, value, { path, raw })
    if (isRefusedValue(parsed)) return void this.#addProblem(path, parsed.refused)
    if (type.refersTo !== undefined) this.#checkName(type.refersTo, parsed as string, path)
    return parsed
  }

  #refuse(type: Scalar, value: Plain, { path, raw }: { path: string; raw: RawScalar }): void {
    const suggestion =
      type.guess?.(value) ?? (type.choices ? nearest(String(value), type.choices) : undefined)
    const got = type.label === 'secret' ? 'another' : shownRaw(raw)
    this.#addProblem(path, `expected ${type.expected}, got ${got}`, { suggestion })
  }

  #checkName(section: string, name: string, path: string): void {
    const names = this.#names(section)
    if (names.includes(name)) return
    const suggestion = nearest(name, names)
    const expected = names.length === 0 ? `there are no ${section}` : `expected one of ${names.join(', ')}`
    this.#addProblem(path, `there is no ${section}.${name}; ${expected}`, { suggestion })
  }
}

const isRefusedValue = (value: unknown): value is RefusedValue =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'refused')
