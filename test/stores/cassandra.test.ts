import { after, test } from 'node:test'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import { testObjects } from '../../src/testing/test-objects.ts'
import { type CellLaws, testCells, testStore } from '../../src/testing/test-store.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { cassandraRig } from './cassandra-rig.ts'
import { testEvidence } from './evidence-laws.ts'

const rig = await cassandraRig('laws')
if (isUnavailable(rig)) test('the laws on Cassandra', { skip: skipReason(rig) })
else {
  after(() => rig.end())
  testStore({
    name: 'cassandra',
    create: ({ clock }) => rig.store(clock),
    capabilities: { rounds: 12, removalsHideOlder: true },
  })
  const cellLaws: CellLaws = {
    name: 'cassandra',
    rounds: 6,
    create: ({ clock }) => ({ cells: new RowCells(rig.cells(clock), clock) }),
  }
  testCells(cellLaws)
  testObjects(cellLaws)
  testEvidence(cellLaws)
}
