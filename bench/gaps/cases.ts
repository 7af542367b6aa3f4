/** The workloads of the published rules' simulation, with the figures that it gave for them. */
import type { Workload } from './simulation.ts'

export interface Case {
  readonly name: string
  readonly workload: Workload
  /** Under the prefix rule, per minute. */
  readonly published: { readonly queries: number; readonly buckets: number }
}

const slow = { refreshMs: 30_000 }
const day = { ...slow, windowBuckets: 1440, warmUpHours: 26, hours: 30 }
const capOfADay = { capMs: 86_400_000 }
const floorAboveRefresh = { floorMs: 10_500 }

const published = (queries: number, buckets: number): Case['published'] => ({ queries, buckets })

export const cases: readonly Case[] = [
  { name: '1 viewer, 10 s', workload: { viewers: 1 }, published: published(6, 36.9) },
  { name: '2 viewers', workload: { viewers: 2 }, published: published(12, 54.9) },
  { name: '5 viewers', workload: { viewers: 5 }, published: published(12, 54.9) },
  { name: '30 viewers', workload: { viewers: 30 }, published: published(12, 54.9) },
  { name: '1 viewer, 30 s', workload: { viewers: 1, ...slow }, published: published(2, 19.8) },
  ...lagging(30, 300, [
    [27.5, 114],
    [12.8, 57],
  ]),
  ...lagging(30, 1000, [
    [45, 210],
    [12, 56],
  ]),
  ...lagging(30, 2000, [
    [67, 323],
    [11.6, 54],
  ]),
  ...lagging(100, 1000, [
    [130, 572],
    [13, 57],
  ]),
  {
    name: '1 viewer, floor 10.5 s',
    workload: { viewers: 1, ...floorAboveRefresh },
    published: published(3, 24.9),
  },
  {
    name: '2 viewers, floor 10.5 s',
    workload: { viewers: 2, ...floorAboveRefresh },
    published: published(6, 36.9),
  },
  {
    name: '30 viewers, floor 10.5 s',
    workload: { viewers: 30, ...floorAboveRefresh },
    published: published(6, 36.9),
  },
  { name: '1 viewer, cap 24 h', workload: { viewers: 1, ...capOfADay }, published: published(6, 34.9) },
  { name: '30 viewers, cap 24 h', workload: { viewers: 30, ...capOfADay }, published: published(13, 53.9) },
  { name: '24 h window, 1 viewer, 30 s', workload: { viewers: 1, ...day }, published: published(2, 40.8) },
  {
    name: '24 h window, 1 viewer, 30 s, cap 24 h',
    workload: { viewers: 1, ...day, ...capOfADay },
    published: published(2, 18.9),
  },
]

function lagging(
  viewers: number,
  lagMs: number,
  [alone, together]: readonly [readonly [number, number], readonly [number, number]],
): Case[] {
  const name = `${viewers} viewers, ${lagMs / 1000} s lag`
  return [
    { name, workload: { viewers, lagMs }, published: published(...alone) },
    {
      name: `${name}, coalescing`,
      workload: { viewers, lagMs, coalescing: true },
      published: published(...together),
    },
  ]
}
