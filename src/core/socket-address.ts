/** Addresses of unix sockets: `unix:/run/windowpane.sock` in the place of host:port. */

/** The path of the socket; undefined for host:port and URLs. */
export const socketPathOf = (address: string): string | undefined => /^unix:(\/.+)$/s.exec(address)?.[1]
