/** `windowpane top`: the most requested shapes, their outcomes, and the remaining load on the database. */

import { enterScreen, frameOf, leaveScreen } from '../core/text.ts'
import { maxSummaryShapes } from '../proxy/fleet/summary.ts'
import { type AdminClient, adminFlags, fetchJson, findAdmin, nodeFlag, parametersOf } from './admin-client.ts'
import { type Command, type CommandIo, expectNoMore, type Given, json, Misuse } from './command.ts'
import { exitCode, Failure, orFailure } from './exit-codes.ts'
import type { ProxyStatus } from './proxy-identity.ts'
import { type Order, orders, type TopPicture, type TopShape, topLines } from './top-text.ts'

const words = {
  name: 'top',
  summary: 'most requested shapes, their savings, load that reaches the database',
  synopsis: '[--by ORDER] [--once] [options]',
  examples: ['windowpane top', 'windowpane top --by asked', 'windowpane top --by seconds --once --json'],
  about: `Where several nodes share a store, all of them are shown as one: of each node but the
queried one, its ${maxSummaryShapes} most requested shapes. On a terminal the table is drawn anew every two seconds until it is stopped;
anywhere else it is written once.`,
  flags: [
    {
      name: 'by',
      value: 'ORDER',
      about:
        'requests (default), seconds saved, bytes of answers, or asked: the load that still reaches the database, longest first',
    },
    { name: 'backend', value: 'NAME', about: 'only this database' },
    nodeFlag,
    { name: 'once', about: 'once, also on a terminal' },
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable],
} as const

const everyMs = 2_000
const mostShapes = '1000'
/** Without a terminal: more than a screen, less than a flood. */
const mostLines = 100

async function run(given: Given, io: CommandIo): Promise<number> {
  const by = (given.flag('by') ?? 'requests') as Order
  if (!Object.hasOwn(orders, by)) throw new Misuse(`--by ${by} is none of ${Object.keys(orders).join(', ')}`)
  expectNoMore(given.positionals)
  const admin = await findAdmin(given, io)
  const look = () => pictureOf(admin, by, given)
  const first = await look()
  if (given.has('json')) io.out(json({ status: first.status, by, shapes: first.shapes }))
  else if (given.has('once') || io.terminal === undefined) io.out(onceText(first, io))
  else await watch(first, look, io)
  return exitCode.ok
}

const onceText = (picture: TopPicture, io: CommandIo): string =>
  `${topLines(picture, io, mostLines).join('\n')}\n`

async function pictureOf(admin: AdminClient, by: Order, given: Given): Promise<TopPicture> {
  const status = await fetchJson<ProxyStatus>(admin, '/-/status')
  const path = `/-/shapes${parametersOf(given, ['node'], { limit: mostShapes })}`
  const shapes = await fetchJson<readonly TopShape[]>(admin, path)
  const backend = given.flag('backend')
  const chosen = shapes.filter((row) => backend === undefined || row.backend === backend)
  const { member } = orders[by]
  const sorted = chosen.toSorted((a, b) => b[member] - a[member])
  return { by, node: given.flag('node'), status, shapes: sorted }
}

/** Until it is stopped. A proxy that does not answer for a while is waited for. */
function watch(first: TopPicture, look: () => Promise<TopPicture>, io: CommandIo): Promise<void> {
  let last = first
  const draw = (trouble?: string): void => {
    const rows = io.terminal!.rows()
    const lines = topLines(last, io, rows - 4)
    io.out(frameOf((trouble === undefined ? lines : [trouble, ...lines]).slice(0, rows - 1)))
  }
  io.out(enterScreen)
  return new Promise((resolve) => {
    let isOver = false
    const release = io.onInterrupt(() => {
      isOver = true
      io.out(leaveScreen)
      release()
      resolve()
    })
    const again = async (): Promise<void> => {
      const seen = await orFailure(look())
      if (isOver) return
      if (seen instanceof Failure) draw(seen.message)
      else {
        last = seen
        draw()
      }
      io.clock.after(everyMs, () => void again())
    }
    draw()
    io.clock.after(everyMs, () => void again())
  })
}

export const top: Command = { words, run }
