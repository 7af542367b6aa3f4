/** The definition as JSON Schema (draft 2020-12), for editors. Secrets are not in it: they do not belong into a file. */
import {
  type JsonSchema,
  type Key,
  type Keys,
  namePattern,
  type Section,
  type Type,
} from '../src/config/definition.ts'
import { definition } from '../src/config/schema.ts'

export const configurationSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Windowpane configuration',
  ...schemaOf(definition),
  type: 'object',
})

function schemaOf(type: Type): JsonSchema {
  switch (type.kind) {
    case 'scalar':
      return type.json
    case 'section':
      return sectionOf(type)
    case 'variants':
      return {
        oneOf: Object.entries(type.cases).map(([name, one]) =>
          objectOf(one.keys, {
            name,
            isUsual: name === type.usual,
            shorthand: type.implied?.type === name ? type.implied.key : type.shorthand?.key,
          }),
        ),
      }
    case 'named':
      return {
        type: optionalIf(type.min === 0, 'object'),
        propertyNames: { pattern: namePattern },
        ...(type.min === 0 ? {} : { minProperties: type.min }),
        additionalProperties: schemaOf(type.entry),
      }
    case 'list':
      return listOf(schemaOf(type.item), type.item.kind === 'scalar', type.min)
  }
}

function sectionOf({ keys, shorthand }: Section): JsonSchema {
  if (shorthand === undefined) return objectOf(keys)
  return { anyOf: [schemaOf(keys[shorthand]!.type), objectOf(keys)] }
}

/** A key whose own keys are all commented out is empty, and that is no mistake. */
const optionalIf = (isOptional: boolean, type: string): string | string[] =>
  isOptional ? [type, 'null'] : type

function listOf(items: JsonSchema, isOneAllowed: boolean, min: number): JsonSchema {
  const many = { type: optionalIf(min === 0, 'array'), items, ...(min === 0 ? {} : { minItems: min }) }
  return isOneAllowed ? { anyOf: [items, many] } : many
}

interface Tag {
  readonly name: string
  readonly isUsual: boolean
  /** The key that stands for all that are needed. */
  readonly shorthand: string | undefined
}

function objectOf(keys: Keys, tag?: Tag): JsonSchema {
  const shown = Object.entries(keys).filter(([, key]) => !key.isSecret)
  const properties = Object.fromEntries(shown.map(([name, key]) => [name, described(key)]))
  const required = shown.filter(([, key]) => key.isRequired || isEntryNeeded(key)).map(([name]) => name)
  const isTagged = tag !== undefined && !tag.isUsual
  const needed = isTagged ? ['type', ...required] : required
  return {
    type: optionalIf(needed.length === 0, 'object'),
    additionalProperties: false,
    properties: tag === undefined ? properties : { type: { const: tag.name }, ...properties },
    ...(needed.length === 0 ? {} : neededBy(needed, tag?.shorthand)),
  }
}

const neededBy = (required: readonly string[], shorthand: string | undefined): JsonSchema =>
  shorthand === undefined ? { required } : { anyOf: [{ required }, { required: [shorthand] }] }

const isEntryNeeded = ({ type }: Key): boolean => type.kind === 'named' && type.min > 0

function described(key: Key): JsonSchema {
  const { type, meaning, fallback } = key
  const isValue = type.kind === 'scalar' && fallback !== undefined
  return { description: meaning, ...(isValue ? { default: type.show(fallback) } : {}), ...schemaOf(type) }
}
