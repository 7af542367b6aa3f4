/**
 * The long soak: `npm run test:soak [-- --requests 1000000 --seed 1 --workers 2 --memory 128]`. It builds the package, runs it as
 * operators do, and exits with 1 where a response was wrong, a failure was none of the relay's, or memory or hits missed their mark.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../../src/core/clock.ts'
import { missedMarks, reportText } from './report.ts'
import { soak } from './soak.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    memory: { type: 'string', default: '128' },
  },
})

const progressEvery = 100_000

async function main(): Promise<number> {
  const root = join(import.meta.dirname, '../../..')
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'inherit' })
  if (built.status !== 0) return 1
  const began = systemClock.elapsed()
  const endings: (() => void | Promise<void>)[] = []
  const options = {
    requests: Number(values.requests),
    seed: Number(values.seed),
    workers: Number(values.workers),
    memoryMiB: Number(values.memory),
    main: join(root, 'dist/cli/bin.js'),
    onProgress(done: number) {
      if (done > 0 && done % progressEvery === 0)
        console.log(`${done} requests, ${((systemClock.elapsed() - began) / 1000).toFixed(0)} s`)
    },
  }
  try {
    const report = await soak({ after: (ending) => endings.push(ending) }, options)
    console.log(reportText(options, report))
    const missed = missedMarks(options, report)
    for (const mark of missed) console.log(`MISSED  ${mark}`)
    return missed.length === 0 ? 0 : 1
  } finally {
    for (const ending of endings) await ending()
  }
}

process.exitCode = await main()
