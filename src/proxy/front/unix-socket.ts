/**
 * Listening on a unix socket. Its file gets its permissions before clients can see it, replaces the file of a process that
 * ended without removing it, and is never taken from a process that still listens.
 */
import { chmod, lstat, rename, rm } from 'node:fs/promises'
import { connect, type ListenOptions, type Server } from 'node:net'

/** For the owner and the group: a reverse proxy on the machine joins the group. */
const permissions = 0o660

/**
 * Resolves, when the server listens, to the function that removes the file. @throws with the reason where it cannot
 * listen.
 */
export async function openSocket(server: Server, path: string): Promise<() => Promise<void>> {
  await refuseTaken(path)
  // The name that clients know appears by renaming, which replaces a stale file in one step.
  const first = `${path}.new`
  await rm(first, { force: true })
  await listening(server, { path: first })
  try {
    await chmod(first, permissions)
    await rename(first, path)
    const { ino } = await lstat(path)
    return () => removeOwn(path, ino)
  } catch (error) {
    server.close()
    throw error
  }
}

/** Resolves when it listens. Later errors, of single connections that could not be accepted, do not end the process. */
export const listening = (server: Server, where: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(where, resolve)
  })

async function refuseTaken(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  if (!found.isSocket()) throw new Error('there is a file of that name that is not a socket')
  if (await isListening(path)) throw new Error('another process listens there')
}

/** A file without a process behind it refuses connections. */
const isListening = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      // EACCES, for one: whether a process listens cannot be known, so the file stays.
      else reject(error)
    })
  })

/** Another process may have replaced it. */
async function removeOwn(path: string, ino: number): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.ino === ino) await rm(path, { force: true })
}
