/** The servers that a configuration names. */
import type { RedisConfig } from './kind.ts'
import type { Host } from './library.ts'

const defaultPort = 6379
const defaultSentinelPort = 26_379

const hostPattern = /^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/

export function refusalOfHosts(hosts: string): string | undefined {
  const bad = hosts.split(',').find((host) => !hostPattern.test(host.trim()))
  return bad === undefined ? undefined : 'expected HOST:PORT, or several separated by commas'
}

/** Those of a configuration that was checked. */
export function hostsOf({ hosts, sentinel }: Pick<RedisConfig, 'hosts' | 'sentinel'>): Host[] {
  const usual = sentinel === undefined ? defaultPort : defaultSentinelPort
  return hosts.split(',').map((text) => {
    const [, host = '', port] = hostPattern.exec(text.trim()) ?? []
    return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) }
  })
}
