/** Where the file may lie: a directory of its own on a disk of this machine, which no other user can write to. */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
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

/** The kind of network or user-space file system of a directory; undefined for a local disk. */
export const networkFileSystemOf = (directory: string, disk: Disk): string | undefined =>
  networkFileSystems.get(disk.type(directory) >>> 0)

/** Makes the directory where there is none; answers are other people's data, so only this user may look. */
export function preparePlace(directory: string, disk: Disk): Refused | undefined {
  try {
    const distrusted = distrust(directory)
    if (distrusted !== undefined) return distrusted
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

/**
 * Why an existing directory cannot be trusted: another user could put answers into it, or have the store write elsewhere. Undefined
 * where it can be, where it does not exist yet, and where it cannot be looked at: that shows when it is written to.
 */
export function distrust(directory: string): Refused | undefined {
  try {
    if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return undefined
    const found = statSync(directory, { throwIfNoEntry: false })
    if (found === undefined) return dangling(directory)
    if (!found.isDirectory()) return undefined
    return writableByOthers(directory, found) ?? oddEntry(directory)
  } catch {
    return undefined
  }
}

const dangling = (directory: string): Refused => ({
  refused: 'dangling_symlink',
  detail: `${directory} is a symbolic link to a folder that does not exist`,
  remedy: 'make the folder that it leads to, or remove the link',
})

interface Ownership {
  readonly mode: number
  readonly gid: number
}

/** A directory of this process' own group may be writable for it: volumes of containers are. */
function writableByOthers(directory: string, { mode, gid }: Ownership): Refused | undefined {
  const ownGroup = process.getegid?.()
  // Without groups, the bits of the mode have no meaning.
  if (ownGroup === undefined) return undefined
  const isByAll = (mode & 0o002) !== 0
  const isByGroup = (mode & 0o020) !== 0 && gid !== ownGroup
  if (!isByAll && !isByGroup) return undefined
  const who = isByAll ? 'every user' : `group ${gid}, which is not that of this process`
  return {
    refused: 'writable_by_others',
    detail: `${directory} can be written to by ${who} (mode ${(mode & 0o7777).toString(8)}): its content cannot be trusted`,
    remedy: `remove foreign files and run chmod go-w ${directory}, or choose a folder inside it`,
  }
}

/** The store writes regular files only. Writes through a link land elsewhere, and opening a pipe blocks without end. */
function oddEntry(directory: string): Refused | undefined {
  const files = [dataFile(directory), lockFile(directory)].map((file) => basename(file))
  const odd = readdirSync(directory, { withFileTypes: true }).find(
    (entry) => entry.isSymbolicLink() || (files.includes(entry.name) && !entry.isFile()),
  )
  if (odd === undefined) return undefined
  const what = odd.isSymbolicLink() ? 'a symbolic link' : 'not a regular file'
  return {
    refused: 'not_a_regular_file',
    detail: `${join(directory, odd.name)} is ${what}, and the store would write through it`,
    remedy: 'remove it, or choose a folder of its own for the store',
  }
}
