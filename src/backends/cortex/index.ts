/** Cortex: range queries below `/prometheus`, which is a part of the URL of the database. */
import type { Backend } from '../backend.ts'
import type { BackendOptions } from '../kind.ts'
import { matrixBackend } from '../matrix/backend.ts'
import type { RangeQuery } from '../matrix/plan.ts'
import type { PromqlReason } from '../matrix/reasons.ts'
import { plainWire, type Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'

const wire: Wire = { ...plainWire, hasShortInstants: true }

export const cortex = (options: BackendOptions): Backend<RangeQuery, PromqlReason> =>
  matrixBackend({
    name: 'cortex',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wireOf: () => wire,
  })
