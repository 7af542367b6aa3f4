#!/usr/bin/env node
/**
 * The entry point of `windowpane`: prints an error where Node is too old, and loads the rest only where it is not.
 * Syntax here stays such that an old Node can read it.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

/** `engines` of the package has the same value; a test compares them. */
if (major > 22 || (major === 22 && minor >= 19)) void import('./main.ts')
else {
  process.stderr.write(
    `windowpane: needs Node 22.19 or later, and this is ${process.version}\nInstall a newer Node, or put it first in PATH.\n`,
  )
  process.exitCode = 2
}
