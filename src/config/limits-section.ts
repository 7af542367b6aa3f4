/** The section `limits`: every limit of the proxy, by its name without the unit. A new limit is a new key by itself. */
import { defaultLimits, type Limits, limitDescriptions } from '../proxy/limits.ts'
import { type Key, key, nested, type Section, section } from './definition.ts'
import { count, duration, longestTimer, size } from './scalars.ts'
import { formatSize } from './units.ts'

const MiB = 2 ** 20
const usualAnswer = formatSize(defaultLimits.maxAnswerBytes)

/** Where the usual bounds (above 0; for durations, the range of a timer) are not right. */
const bounds: Partial<Record<keyof Limits, { readonly min?: number; readonly max?: number }>> = {
  memoryBytes: { min: 16 * MiB },
  maxHeaderBytes: { min: 1024, max: 64 * MiB },
  maxRequestBytes: { min: 1024 },
  minRateBytes: { min: 0 },
  maxStaleMs: { min: 0 },
  retentionMs: { min: 1 },
}

type Numeric = { [N in keyof Limits]: Limits[N] extends number ? N : never }[keyof Limits]

const isNumeric = (name: keyof Limits): name is Numeric => typeof defaultLimits[name] === 'number'

function limitKey(name: Numeric): [string, Key] {
  const meaning = limitDescriptions[name]
  // The others are given to listeners, pools and stores when they are made.
  const apply = name === 'maxStaleMs' ? 'live' : 'restart'
  const options = { meaning, apply, property: name } as const
  if (name.endsWith('Bytes')) {
    return [name.slice(0, -5), key(size(bounds[name] ?? { min: 1 }), defaultLimits[name], options)]
  }
  if (name.endsWith('Ms')) {
    return [name.slice(0, -2), key(duration(bounds[name] ?? longestTimer), defaultLimits[name], options)]
  }
  return [name, key(count(bounds[name] ?? { min: 1 }), defaultLimits[name], options)]
}

const patience = section({
  slow: key(duration(longestTimer), defaultLimits.patienceMs.slow, {
    meaning: 'how long a request that could be answered stale waits for a slow database',
    property: 'slow',
  }),
  down: key(duration(longestTimer), defaultLimits.patienceMs.down, {
    meaning: 'the same, for a database that is known to be down',
    property: 'down',
  }),
})

const patienceKey = nested(patience, limitDescriptions.patienceMs, {
  property: 'patienceMs',
  apply: 'restart',
})

const keys = (Object.keys(limitDescriptions) as (keyof Limits)[]).map((name): [string, Key] =>
  isNumeric(name) ? limitKey(name) : ['patience', patienceKey],
)

export const limitsSection = section(Object.fromEntries(keys), {
  checks: [
    {
      run(value: Limits, report) {
        if (value.maxAnswerBytes <= value.memoryBytes) return
        // The one that was set is at fault.
        if (value.maxAnswerBytes !== defaultLimits.maxAnswerBytes)
          report('maxAnswer', 'is larger than limits.memory: such an answer could never be kept')
        else report('memory', `is less than limits.maxAnswer, ${usualAnswer}: raise it, or lower that too`)
      },
    },
  ],
}) as unknown as Section<Limits>
