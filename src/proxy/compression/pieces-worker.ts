/** The thread in which pieces are made: a job in, its blocks out. */
import { parentPort } from 'node:worker_threads'
import { makeBlocks, type PieceJob } from './pieces-block.ts'

parentPort!.on('message', ({ id, job }: { id: number; job: PieceJob }) => {
  const blocks = makeBlocks(job)
  const memory = blocks.flatMap(({ bytes, table }) => [bytes.buffer, table.buffer] as ArrayBuffer[])
  parentPort!.postMessage({ id, blocks }, memory)
})
