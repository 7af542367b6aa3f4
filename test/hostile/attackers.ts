/**
 * The hostile clients of the long form, in a process of their own: `node attackers.ts URL ATTACK`. They drip once per second; those
 * that are cut off come again after 10 s: they are slow, not a flood.
 */
import { systemClock } from '../../src/core/clock.ts'
import { attacks, launch } from './attack.ts'

const [, , url = '', name = ''] = process.argv
const attack = attacks[name as keyof typeof attacks]
const attackers = await launch(url, attack, { clients: attack.clients, comesAgainMs: 10_000 })

function dripLater(): void {
  systemClock.after(1000, () => {
    attackers.drip()
    dripLater()
  })
}

dripLater()
// The parent waits for a URL, as it does with servers.
process.stdout.write(`${attackers.sockets.length} clients at ${url}\n`)
