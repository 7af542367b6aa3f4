/** Several processes on one machine that share an LMDB file. */
import { scratchDirectory } from '../stores/scratch.ts'
import { testFleet } from './fleet-laws.ts'

testFleet('lmdb', async () => `lmdb:${scratchDirectory()}`)
