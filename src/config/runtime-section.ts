/** The section `runtime`: a switch for everything that relies on internals of Node and V8. A new one is a new key by itself. */
import { allOn, type RuntimeSwitches, switchDescriptions } from '../core/runtime.ts'
import { type Key, key, type Section, section } from './definition.ts'
import { bool } from './scalars.ts'

const switchKey = ([name, meaning]: [string, string]): [string, Key] => [
  name,
  key(bool, allOn[name as keyof RuntimeSwitches], { meaning, apply: 'restart' }),
]

export const runtimeSection = section(
  Object.fromEntries(Object.entries(switchDescriptions).map(switchKey)),
) as unknown as Section<RuntimeSwitches>
