/** Where the file may lie: a directory of its own on a disk of this machine. */
import { chmodSync, existsSync, mkdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { Refused } from '../kind.ts'

/** Memory maps of these are not coherent between writers, or their locks are not: LMDB forbids them. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x73757245, 'Coda'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x65735546, 'FUSE'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0x786f4256, 'VirtualBox shared folder'],
])

export interface Disk {
  /** The file system's magic number, as statfs gives it. */
  type(directory: string): number
  /** Bytes that this user may still write. */
  freeBytes(directory: string): number
}

export const systemDisk: Disk = {
  type: (directory) => statfsSync(directory).type,
  freeBytes(directory) {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  },
}

export const dataFile = (directory: string): string => join(directory, 'panes.mdb')
export const lockFile = (directory: string): string => `${dataFile(directory)}-lock`
export const fileMode = 0o600

/** What kind of network or user-space file system a directory is on; undefined for a local disk. */
export const networkFileSystemOf = (directory: string, disk: Disk): string | undefined =>
  networkFileSystems.get(disk.type(directory) >>> 0)

/** Makes the directory where there is none; answers are other people's data, so only this user may look. */
export function preparePlace(directory: string, disk: Disk): Refused | undefined {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const name = networkFileSystemOf(directory, disk)
    if (name !== undefined) return refusedNetwork(directory, name)
    for (const file of [dataFile(directory), lockFile(directory)])
      if (existsSync(file)) chmodSync(file, fileMode)
    return undefined
  } catch (cause) {
    return {
      refused: 'not_writable',
      detail: `${directory} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
      remedy: 'give the process a directory it may write to',
      cause,
    }
  }
}

const refusedNetwork = (directory: string, name: string): Refused => ({
  refused: 'network_file_system',
  detail: `${directory} lies on a network or user-space file system (${name}), where the embedded store would be damaged`,
  remedy: 'choose a directory on a local disk, or use a shared store made for the network',
})
