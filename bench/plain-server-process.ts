/**
 * The control of what the API server does over HTTPS: bytes kept in memory, no API. PUT keeps a body at its path and GET answers it;
 * GET with `watch=true` stays open, but for /replay, and POST /emit writes its body to all that are open. Prints one line of JSON when it listens; ends with its stdin.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';

const [folder = ''] = process.argv.slice(2);
const read = (name: string) => readFileSync(join(folder, 'pki', name));
const kept = new Map<string, Buffer>([['/readyz', Buffer.from('ok')]]);
const watchers = new Set<ServerResponse>();

const server = createServer({ cert: read('apiserver.crt'), key: read('apiserver.key') }, (request, response) => {
  const [path = '/', query = ''] = (request.url ?? '/').split('?');
  if (request.method === 'GET' && /\bwatch=true\b/.test(query) && path !== '/replay') {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    watchers.add(response);
    response.on('close', () => watchers.delete(response));
    return;
  }
  if (request.method === 'GET') {
    const body = kept.get(path);
    const headers = { 'content-type': 'application/json', 'content-length': body?.length ?? 0 };
    response.writeHead(body === undefined ? 404 : 200, headers).end(body);
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces);
    if (path === '/emit') for (const watcher of watchers) watcher.write(body);
    else kept.set(path, body);
    response.writeHead(200, { 'content-length': 0 }).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  process.stdout.write(`${JSON.stringify({ port, token: '', ca: read('ca.crt').toString() })}\n`);
});
for await (const _ of process.stdin);
server.close();
server.closeAllConnections();
