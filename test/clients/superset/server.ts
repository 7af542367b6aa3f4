/** A real Superset on loopback. Its own database is made once per machine, and copied for each start. */
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, onceFolder } from '../../servers/cache.ts'
import { type ServerProcess, startServer } from '../../servers/process.ts'

const run = promisify(execFile)
const START_DEADLINE_MS = 5 * 60_000

const database = 'superset.db'
export const account = { username: 'admin', password: 'admin' }

/** The command of Superset, without its program: that names the folder in which it was installed first. */
const command = ['-c', 'from superset.cli.main import superset; superset()']

const environment = (home: string) => ({
  FLASK_APP: 'superset',
  SUPERSET_CONFIG_PATH: join(import.meta.dirname, 'superset_config.py'),
  SUPERSET_HOME: home,
})

export async function startSuperset(python: string): Promise<ServerProcess> {
  const made = await makeDatabase(python)
  return startServer({
    name: 'superset',
    program: python,
    args: ({ port, folder }) => [
      '-c',
      `import os; os.environ["SUPERSET_HOME"] = ${JSON.stringify(folder)}; ${command[1]}`,
      ...['run', '-h', '127.0.0.1', '-p', String(port), '--with-threads'],
    ],
    environment: environment(made),
    prepare: ({ folder }) => cp(join(made, database), join(folder, database)),
    readyPath: '/health',
    readyDeadlineMs: START_DEADLINE_MS,
  })
}

function makeDatabase(python: string): Promise<string> {
  return onceFolder(join(cacheFolder(), 'clients-superset-home-6.1.0'), async (home) => {
    process.stderr.write('making the database of Superset: this takes a minute\n')
    const { username, password } = account
    const person = ['--firstname', 'Test', '--lastname', 'Test', '--email', 'test@localhost']
    const names = ['--username', username, '--password', password, ...person]
    for (const args of [['db', 'upgrade'], ['fab', 'create-admin', ...names], ['init']]) {
      const env = { ...process.env, ...environment(home) }
      await run(python, [...command, ...args], { env, maxBuffer: 64 << 20 })
    }
  })
}
