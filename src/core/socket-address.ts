/** Addresses to listen on, host:port or a unix socket (`unix:/run/windowpane.sock`), and hosts of this machine. */

/** The path of the socket; undefined for host:port and URLs. */
export const socketPathOf = (address: string): string | undefined => /^unix:(\/.+)$/s.exec(address)?.[1]

/** host:port → host, in lower case, without brackets. */
export const hostOf = (address: string): string =>
  address
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/

/** Whether a host to connect to, with or without brackets, is this machine by its name or address alone. */
export const isLoopback = (host: string): boolean => loopback.test(host) || host.endsWith('.localhost')

/** Whether only this machine can connect to it. A resolver may have any address for a name below `localhost`. */
export const isLocalAddress = (address: string): boolean =>
  socketPathOf(address) !== undefined || loopback.test(hostOf(address))
