/** The picture without a terminal: plain lines for logs, JSON for programs. */
import { clock, compact, duration, percent } from './format.ts'
import type { Picture } from './tally.ts'
import type { DemoSetup } from './view.ts'

export function plainLine(picture: Picture): string {
  const { elapsedMs, queries, total, outcomes, staleness } = picture
  if (!isWarm(picture)) return `${clock(elapsedMs)} ${compact(queries)} queries · ${warming}`
  const latencies = outcomes.map(
    ({ outcome, p50Ms, p99Ms }) => `${outcome} ${duration(p50Ms)}/${duration(p99Ms)}`,
  )
  return [
    `${clock(elapsedMs)} ${compact(queries)} queries`,
    `any hit ${percent(total.anyHit)}`,
    `from cache ${percent(total.fromCache)}`,
    `load avoided ${percent(total.loadAvoided)}`,
    `p50/p99 ${latencies.join(', ')}`,
    `out of date ${outOfDate(staleness)}, beyond TTL ${staleness.violations}`,
  ].join(' · ')
}

export function summary({ total, bucketSeconds, outcomes, direct, staleness, ...picture }: Picture): string {
  const { asked, withoutCache } = bucketSeconds
  const rows = outcomes.map(
    ({ outcome, count, p50Ms, p99Ms }) =>
      `  ${outcome.padEnd(9)}${compact(count).padStart(8)}  p50 ${duration(p50Ms)}, p99 ${duration(p99Ms)}`,
  )
  return [
    `In ${clock(picture.elapsedMs)} the viewers sent ${compact(picture.queries)} queries.`,
    `  queries with any hit  ${percent(total.anyHit)}`,
    `  data from cache       ${percent(total.fromCache)}`,
    `  backend load avoided  ${percent(total.loadAvoided)} (${duration(1000 * asked)} of data fetched instead of ${duration(1000 * withoutCache)})`,
    ...rows,
    `  asked directly     p50 ${duration(direct.p50Ms)}, p99 ${duration(direct.p99Ms)}`,
    `  out of date        ${outOfDate(staleness)} of ${compact(staleness.points)} points compared, at most ${duration(staleness.maxMs)}; beyond TTL: ${staleness.violations}`,
    '',
  ].join('\n')
}

const outOfDate = ({ points, outdated }: Picture['staleness']): string =>
  percent(points > 0 ? outdated / points : 0)

/** At first everything is fetched, and the cache shows no effect. */
export const isWarm = ({ outcomes, bucketSeconds }: Picture): boolean =>
  outcomes.some(({ outcome }) => outcome === 'hit' || outcome === 'partial') &&
  bucketSeconds.withoutCache > 1.5 * bucketSeconds.asked

const warming = 'warming up: the first request of each panel fetches all of its data'

/** One line of JSON. Shares are between 0 and 1, durations in milliseconds. */
export function jsonLine(picture: Picture, setup: DemoSetup, isFinal: boolean): string {
  const { elapsedMs, recent: _, outcomes, total, lastMinute, ...rest } = picture
  return JSON.stringify({
    seconds: Math.round(elapsedMs / 1000),
    isFinal,
    proxy: setup.proxyUrl,
    admin: setup.adminUrl,
    dashboards: setup.dashboards,
    ...total,
    lastMinute,
    outcomes: Object.fromEntries(outcomes.map(({ outcome, ...row }) => [outcome, row])),
    ...rest,
  })
}
