/** nginx serving the same answers as files: the performance of a web server on this machine. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { isUnavailable } from '../../test/servers/availability.ts'
import { findProgram } from '../../test/servers/debian.ts'
import { type ServerProcess, startServer } from '../../test/servers/process.ts'

/** One process, sendfile, open files kept, connections kept, no log; a POST is answered as a GET of the same path. */
const settings = (port: number, folder: string): string => `daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr crit;
events { worker_connections 256; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=1000 inactive=1h;
  open_file_cache_valid 1h;
  keepalive_requests 1000000000;
  default_type application/json;
  gzip_static on;
  gzip_types application/json;
  client_body_temp_path ${folder}/t1;
  proxy_temp_path ${folder}/t2;
  fastcgi_temp_path ${folder}/t3;
  uwsgi_temp_path ${folder}/t4;
  scgi_temp_path ${folder}/t5;
  server { listen 127.0.0.1:${port}; root ${folder}/files; error_page 405 =200 $uri; location = /ready { return 200; } }
}
`

/** `files`: path (without the slash) → bytes. Each is also there ready-made as gzip, level 6. */
export async function startNginx(files: ReadonlyMap<string, Uint8Array>): Promise<ServerProcess> {
  const program = await findProgram({ package: 'nginx', file: 'usr/sbin/nginx', suite: 'own' })
  if (isUnavailable(program)) throw new Error(program.unavailable)
  return startServer({
    name: 'nginx',
    program: program.path,
    args: ({ folder }) => ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')],
    readyPath: '/ready',
    async prepare({ folder, port }) {
      await writeFile(join(folder, 'nginx.conf'), settings(port, folder))
      await mkdir(join(folder, 'files'), { recursive: true })
      for (const [name, bytes] of files) {
        await writeFile(join(folder, 'files', name), bytes)
        await writeFile(join(folder, 'files', `${name}.gz`), gzipSync(bytes))
      }
    },
  })
}
