/** The keys of `backends.<name>` that only Druid has. */
import { type Check, key, list, nested, section, type TypeValue } from '../../config/definition.ts'
import { bool, duration, longestTimer } from '../../config/scalars.ts'
import { text, timeZone } from '../../config/text-scalars.ts'
import { formatDuration } from '../../config/units.ts'

const viewsAreInTime: Check = {
  needs: ['every', 'patience'],
  run({ everyMs, patienceMs }: { readonly everyMs: number; readonly patienceMs: number }, report) {
    if (patienceMs <= everyMs) {
      const times = `${formatDuration(patienceMs)} is not longer than "every" (${formatDuration(everyMs)})`
      report('patience', `${times}: no view would be trusted until the next one`)
    }
  },
}

const segments = section(
  {
    watch: key(bool, false, {
      meaning:
        'Druid: poll the segments of the Broker (`sys.segments`, with the account of `auth`). Settled buckets stay fresh while their segments are unchanged, and changed data is fetched again at once',
      apply: 'reopen',
    }),
    every: key(duration({ ...longestTimer, min: 1000 }), 10_000, {
      meaning: 'the time between two polls',
      apply: 'reopen',
    }),
    patience: key(duration(longestTimer), 60_000, {
      meaning:
        'the longest age of the last successful poll; after that, settled buckets are under the TTL policy again',
      apply: 'reopen',
    }),
    maxAge: key(duration(), 86_400_000, {
      meaning:
        'the longest time after its fetch that a bucket may be fresh: changes of schema, lookups and rules show in no segment',
      apply: 'reopen',
    }),
  },
  { checks: [viewsAreInTime] },
)

export const druidSection = section({
  ignoreContext: key(list(text), [], {
    meaning:
      'keys of the query context of Druid that do not change answers, such as tags of users: queries that differ in them only share answers',
    apply: 'reopen',
  }),
  sqlTimeZone: key(timeZone, 'UTC', {
    meaning: 'the zone of Druid SQL that names none: `druid.sql.planner.sqlTimeZone` of its Brokers',
    apply: 'reopen',
  }),
  segments: nested(segments, 'watching the segments of a Druid', { apply: 'reopen' }),
})

export type DruidConfig = TypeValue<typeof druidSection>
