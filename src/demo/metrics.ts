/**
 * The demo's world: a small shop on a few pods that are replaced by releases, and a building with rooms. Every value is
 * a pure function of the seed and the time.
 */
import type { EpochMs } from '../core/clock.ts'
import { roll, type Source, scrapeMs } from './arrivals.ts'
import { burstsOf, counterOf, level, waveOf } from './waves.ts'

export type Label = readonly [name: string, value: string]

export interface Series {
  /** Sorted by name, as Prometheus keeps them. */
  readonly labels: readonly Label[]
  readonly source: Source
  value(at: EpochMs): number
}

export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** The series that have samples in this time; a few more do not matter. */
  series(from: EpochMs, to: EpochMs): Series[]
}

const hour = 3_600_000
const rolloutMs = 90_000

interface Job {
  readonly name: string
  readonly pods: number
  readonly releaseEveryMs: number
  /** Requests per second and pod. */
  readonly load: number
}

const jobs: readonly Job[] = [
  { name: 'catalog', pods: 4, releaseEveryMs: 6 * hour, load: 42 },
  { name: 'checkout', pods: 3, releaseEveryMs: 4 * hour, load: 11 },
  { name: 'search', pods: 2, releaseEveryMs: 12 * hour, load: 27 },
]

const rooms = ['atrium', 'canteen', 'lab', 'library', 'server', 'studio', 'vault', 'workshop']

interface Pod extends Source {
  readonly job: Job
  readonly instance: string
}

export function createMetrics(seed: number): ReadonlyMap<string, Metric> {
  const metrics = [requests(seed), podGauge(seed, memory), podGauge(seed, up), queue(seed), temperature(seed)]
  return new Map(metrics.map((metric) => [metric.name, metric]))
}

/** The pods of a job that live in [from, to]: a release replaces them one after the other. */
function podsOf(seed: number, job: Job, { from, to }: { from: EpochMs; to: EpochMs }): Pod[] {
  const jobSeed = hashText(seed, job.name)
  const startOf = (release: number, pod: number): EpochMs =>
    release * job.releaseEveryMs +
    Math.floor((roll(jobSeed, release, 4) * job.releaseEveryMs) / 3) +
    pod * rolloutMs
  const pods: Pod[] = []
  const last = Math.floor(to / job.releaseEveryMs)
  for (let release = Math.floor(from / job.releaseEveryMs) - 1; release <= last; release++) {
    for (let pod = 0; pod < job.pods; pod++) {
      const life = { from: startOf(release, pod), to: startOf(release + 1, pod) }
      if (life.from > to || life.to < from) continue
      const instance = `${job.name}-${release.toString(36)}-${pod}`
      pods.push({ ...sourceOf(hashText(seed, instance)), ...life, job, instance })
    }
  }
  return pods
}

const ofPods =
  (seed: number, seriesOf: (pod: Pod) => Series[]): Metric['series'] =>
  (from, to) =>
    jobs.flatMap((job) => podsOf(seed, job, { from, to }).flatMap(seriesOf))

const sourceOf = (seed: number): Source => ({
  seed,
  from: Number.NEGATIVE_INFINITY,
  to: Number.POSITIVE_INFINITY,
  offsetMs: Math.floor(roll(seed, 0, 5) * scrapeMs),
})

const codes = [
  { code: '200', share: 0.985 },
  { code: '404', share: 0.012 },
  { code: '500', share: 0.003 },
] as const

function requests(seed: number): Metric {
  const name = 'http_requests_total'
  return {
    name,
    type: 'counter',
    help: 'Requests answered.',
    series: ofPods(seed, (pod) => codes.map((code) => requestSeries(pod, name, code))),
  }
}

function requestSeries(pod: Pod, name: string, { code, share }: { code: string; share: number }): Series {
  const labels = labelsOf({ __name__: name, code, instance: pod.instance, job: pod.job.name })
  const counted = counterOf(waveOf(pod.seed, pod.job.load * share), pod.from)
  const bursts = code === '500' ? burstsOf(pod.seed, pod.from) : () => 0
  const value = (at: EpochMs): number => Math.floor(counted(at) + bursts(at))
  return { labels, source: pod, value }
}

type PodGauge = Omit<Metric, 'series' | 'type'> & { value(pod: Pod, at: EpochMs): number }

const memory: PodGauge = {
  name: 'process_resident_memory_bytes',
  help: 'Resident memory size in bytes.',
  value({ seed, from }, at) {
    const collectEveryMs = (20 + 30 * roll(seed, 1, 6)) * 60_000
    const grown = ((at - from) % collectEveryMs) / collectEveryMs
    return 4096 * Math.floor(24_000 + 9_000 * roll(seed, 2, 6) + 30_000 * grown)
  },
}

const up: PodGauge = { name: 'up', help: 'Whether the last scrape succeeded.', value: () => 1 }

function podGauge(seed: number, { name, help, value }: PodGauge): Metric {
  return {
    name,
    type: 'gauge',
    help,
    series: ofPods(seed, (pod) => {
      const labels = labelsOf({ __name__: name, instance: pod.instance, job: pod.job.name })
      return [{ labels, source: pod, value: (at) => value(pod, at) }]
    }),
  }
}

function queue(seed: number): Metric {
  const name = 'queue_depth'
  const series = jobs.map((job): Series => {
    const source = sourceOf(hashText(seed, `queue ${job.name}`))
    const wave = waveOf(source.seed, job.load)
    return {
      labels: labelsOf({ __name__: name, job: job.name }),
      source,
      value: (at) => Math.round(level(wave, at) * (0.5 + roll(source.seed, Math.floor(at / scrapeMs), 7))),
    }
  })
  return { name, type: 'gauge', help: 'Orders that wait.', series: () => series }
}

function temperature(seed: number): Metric {
  const name = 'room_temperature_celsius'
  const series = rooms.map((room, i): Series => {
    const source = sourceOf(hashText(seed, `room ${room}`))
    const wave = waveOf(source.seed, 2.5)
    const mean = 18 + 4 * roll(source.seed, 0, 8)
    return {
      labels: labelsOf({ __name__: name, floor: String(i % 3), room }),
      source,
      value: (at) =>
        Math.round(100 * (mean + level(wave, at) + 0.1 * roll(source.seed, Math.floor(at / scrapeMs), 9))) /
        100,
    }
  })
  return { name, type: 'gauge', help: 'Temperature of a room.', series: () => series }
}

const labelsOf = (labels: Readonly<Record<string, string>>): Label[] =>
  Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))

function hashText(seed: number, text: string): number {
  let hash = seed | 0
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash ^ (hash >>> 13)
}
