/** Cortex: range queries below `/prometheus`, which is a part of the URL of the database. */
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import type { LateOptions } from '../matrix/settled-age.ts'
import { plainWire, type Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'

const wire: Wire = { ...plainWire, hasShortInstants: true }

export const cortex = (options: LateOptions): MatrixBackend =>
  matrixBackend({
    name: 'cortex',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wire,
  })
