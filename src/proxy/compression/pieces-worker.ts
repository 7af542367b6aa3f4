/** The thread in which pieces are made: a job in, its blocks out. */
import { parentPort } from 'node:worker_threads'
import { makeBlocks, type PieceJob } from './pieces-block.ts'

parentPort!.on('message', ({ id, job }: { id: number; job: PieceJob }) => {
  const blocks = makeBlocks(job)
  // Given up now: this thread does so little else that V8 would let 64 MiB of these gather.
  for (const { buffer } of [job.raw, job.sizes]) buffer.transfer(0)
  const memory = blocks.flatMap(({ bytes, table }) => [bytes.buffer, table.buffer] as ArrayBuffer[])
  parentPort!.postMessage({ id, blocks }, memory)
})
