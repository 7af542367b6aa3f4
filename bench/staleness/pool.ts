/** Runs cases in several processes; results come in the order of the cases. */
import { type ChildProcess, fork } from 'node:child_process'
import type { StalenessCase, StalenessRun } from '../../test/rigs/staleness-case.ts'

export async function runAll(
  cases: readonly StalenessCase[],
  jobs: number,
  onRun: (run: StalenessRun, done: number) => void,
): Promise<StalenessRun[]> {
  const runs: StalenessRun[] = []
  let [next, done] = [0, 0]
  const work = async () => {
    const child = fork(new URL('worker.ts', import.meta.url), { serialization: 'advanced' })
    for (let at = next++; at < cases.length; at = next++) {
      const run = await runIn(child, cases[at]!)
      runs[at] = run
      onRun(run, ++done)
    }
    child.disconnect()
  }
  await Promise.all(Array.from({ length: Math.min(jobs, cases.length) }, work))
  return runs
}

function runIn(child: ChildProcess, each: StalenessCase): Promise<StalenessRun> {
  return new Promise((resolve, reject) => {
    const failed = (code: number | null) =>
      reject(new Error(`a worker ended with ${code}: ${JSON.stringify(each)}`))
    child.once('exit', failed)
    child.once('message', (run) => {
      child.off('exit', failed)
      resolve(run as StalenessRun)
    })
    child.send(each)
  })
}
