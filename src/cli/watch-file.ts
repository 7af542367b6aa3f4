/** Notices that a file was changed. */
import { stat } from 'node:fs/promises'
import { systemClock } from '../core/clock.ts'

const pollMs = 2_000

/** By looking, not by events of the file system: those differ between systems and miss replaced files. */
export function watchFile(file: string, changed: () => void): void {
  let seen: number | undefined
  const look = async () => {
    const time = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    )
    if (seen !== undefined && time !== undefined && time !== seen) changed()
    seen = time ?? seen
    systemClock.after(pollMs, () => void look())
  }
  void look()
}
