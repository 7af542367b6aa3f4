/** The metrics of the nodes that share a store. */
import { headOf, sample } from './exposition.ts'
import { families } from './families.ts'
import { type NodeState, nodeStates } from './labels.ts'

export interface FleetFigures {
  readonly nodes: Readonly<Record<NodeState, number>>
  /** Every shared store could be read and written at the last heartbeat. */
  readonly isConnected: boolean
}

export function fleetFamilies({ nodes, isConnected }: FleetFigures): string {
  const { fleetNodes, fleetConnected } = families
  const states = nodeStates.map((state) => sample(fleetNodes.name, ['state', state], nodes[state]))
  return (
    headOf(fleetNodes) +
    states.join('') +
    headOf(fleetConnected) +
    sample(fleetConnected.name, [], isConnected ? 1 : 0)
  )
}
