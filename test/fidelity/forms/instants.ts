/** Instants inside the data, for `@` in queries. */
import { HOUR, START } from '../../data/dataset.ts'

/** Seconds since 1970 at a whole hour of the data. */
export const atHour = (hour: number): number => (START + hour * HOUR) / 1000
