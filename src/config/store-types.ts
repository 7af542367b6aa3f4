/** The kinds of stores that can be configured. */
import { key, required, section, variants } from './definition.ts'
import { path, size } from './scalars.ts'

const GiB = 2 ** 30
const MiB = 2 ** 20

export const storeSection = variants(
  {
    memory: section({}),
    lmdb: section({
      path: required(path, 'the folder of the database; on a local disk', { apply: 'restart' }),
      size: key(size({ min: 16 * MiB }), 10 * GiB, {
        meaning: 'the most it may take on disk; above, the keys used longest ago leave',
        apply: 'restart',
      }),
      reserve: key(size({ min: 0 }), 256 * MiB, {
        meaning: 'free space that is left to others: below, nothing more is written',
        apply: 'restart',
      }),
    }),
  },
  'memory',
)
