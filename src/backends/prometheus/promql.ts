/** The functions that Prometheus computes from one step alone. */
import { promqlDialect } from '../matrix/dialect.ts'
import * as matrix from '../matrix/promql.ts'

const dialect: matrix.Dialect = { ...promqlDialect, negativeOffsets: true, ordersByLabels: true }

export const createExaminer = (limits?: Parameters<typeof matrix.createExaminer>[1]): matrix.Examine =>
  matrix.createExaminer(dialect, limits)

export const examine: matrix.Examine = (text) => matrix.examineAs(dialect, text)
