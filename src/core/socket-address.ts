/** Addresses to listen on, host:port or a unix socket (`unix:/run/windowpane.sock`), and hosts of this machine. */

/** The path of the socket; undefined for host:port and URLs. */
export const socketPathOf = (address: string): string | undefined => /^unix:(\/.+)$/s.exec(address)?.[1]

/** host:port → host, in lower case, without brackets. */
export const hostOf = (address: string): string =>
  address
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')

/** Whether a host, with or without brackets, is this machine by its name or address alone. */
export const isLoopback = (host: string): boolean =>
  /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host)

/** Whether only this machine can connect to it. */
export const isLocalAddress = (address: string): boolean =>
  socketPathOf(address) !== undefined || isLoopback(hostOf(address))
