/** Cortex: range queries below `/prometheus`, which is a part of the URL of the database. */
import type { BackendOptions } from '../kind.ts'
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import { plainWire, type Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'

const wire: Wire = { ...plainWire, hasShortInstants: true }

export const cortex = (options: BackendOptions): MatrixBackend =>
  matrixBackend({
    name: 'cortex',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wire,
  })
