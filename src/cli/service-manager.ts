/**
 * Notifies systemd when the proxy is ready and when it stops (`Type=notify`). Node has no datagram sockets of the unix
 * kind, so systemd's own program sends the messages.
 */
import { execFile } from 'node:child_process'

/** Does nothing where no service manager waits for it. `onFailure` is called with a sentence. */
export function notifyServiceManager(state: 'ready' | 'stopping', onFailure: (detail: string) => void): void {
  if (process.env['NOTIFY_SOCKET'] === undefined) return
  // systemd 252 and earlier have no --stopping.
  const argument = state === 'ready' ? '--ready' : 'STOPPING=1'
  execFile('systemd-notify', [argument], (error) => {
    if (error !== null) onFailure(`systemd-notify ${argument}: ${error.message.trim()}`)
  })
}
