/**
 * The dataset as one Prometheus block, built once per machine. One block, because a query over several blocks, or over
 * blocks and the head, may add floats in another order in one range than in another: answers would not be equal byte
 * for byte, and tests could not distinguish that from a fault of ours.
 */
import { createHash } from 'node:crypto'
import { cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { systemClock } from '../../src/core/clock.ts'
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import { cacheFolder, onceFolder } from '../servers/cache.ts'
import { findProgram } from '../servers/debian.ts'
import { ONE_BLOCK, type Prometheus, programVersion, startPrometheus } from '../servers/prometheus.ts'
import { remoteWrite, type TimeSeries } from '../servers/remote-write.ts'
import { generateSeries, HOUR, inParts } from './dataset.ts'

/** Returns a folder whose only content is the block; copy it, do not run a server in it. */
export async function datasetBlocks(): Promise<string | Unavailable> {
  const program = await findProgram({ package: 'prometheus' })
  if (isUnavailable(program)) return program
  const key = await contentKey(await programVersion(program.path))
  return onceFolder(join(cacheFolder(), `dataset-${key}`), buildInto)
}

/** Changes with everything that could change the block. */
async function contentKey(version: string): Promise<string> {
  const hash = createHash('sha256').update(version)
  for (const folder of [import.meta.dirname, join(import.meta.dirname, '../servers')]) {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    for (const name of names.sort()) {
      if (shapesTheData(name)) hash.update(name).update(await readFile(join(folder, name)))
    }
  }
  return hash.digest('hex').slice(0, 16)
}

function shapesTheData(name: string): boolean {
  return /^(series|samplers|histograms|metrics-(steady|fleeting|odd)|dataset|blocks|protobuf|remote-write)\.ts$/.test(
    name,
  )
}

async function buildInto(folder: string): Promise<void> {
  const started = systemClock.elapsed()
  const scratch = await startPrometheus({ extraFlags: ['--web.enable-admin-api', ...ONE_BLOCK] })
  if (isUnavailable(scratch)) throw new Error(scratch.unavailable)
  try {
    const series = generateSeries()
    for (const part of inParts(series, HOUR)) await remoteWrite(scratch.url, part)
    await verifyLoaded(scratch, series)
    await cp(await takeSnapshot(scratch), folder, { recursive: true })
    const seconds = ((systemClock.elapsed() - started) / 1000).toFixed(1)
    process.stderr.write(`dataset of ${series.length} series built in ${seconds} s\n`)
  } finally {
    await scratch.stop()
  }
}

/** Prometheus drops samples that are out of order without refusing the request. */
async function verifyLoaded(scratch: Prometheus, series: readonly TimeSeries[]): Promise<void> {
  const sent = series.reduce((sum, { samples }) => sum + samples.length, 0)
  const stored = await scratch.metrics('prometheus_tsdb_head_samples_appended_total')
  if (stored !== sent) throw new Error(`of ${sent} samples only ${stored} were stored`)
}

async function takeSnapshot(scratch: Prometheus): Promise<string> {
  const response = await request(`${scratch.url}/api/v1/admin/tsdb/snapshot`, { method: 'POST' })
  const { data } = (await response.body.json()) as { data: { name: string } }
  return join(scratch.folder, 'data', 'snapshots', data.name)
}
