import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ControllersHealth } from '../../../controllers/run.ts';

const PATHS = new Set(['/healthz', '/livez', '/readyz']);

/** Whether a process of controllers is of use: it is a member of the election, and its caches have been filled. */
export function isHealthy({ member, caches }: ControllersHealth): boolean {
  return member !== undefined && Object.values(caches).every((cache) => cache.synced);
}

/**
 * Health over plain HTTP on loopback, for whoever supervises the process: `/healthz`, `/livez` and `/readyz` answer 200 or 503, `/status` what each
 * duty and cache does, as JSON. Answers the port. Rejects when it cannot listen.
 */
export async function serveHealth(
  port: number,
  health: () => ControllersHealth,
  held: AsyncDisposableStack,
): Promise<number> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname === '/status') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(health()));
      return;
    }
    const good = isHealthy(health());
    response.statusCode = !PATHS.has(pathname) ? 404 : pathname === '/livez' || good ? 200 : 503;
    response.end(response.statusCode === 200 ? 'ok' : response.statusCode === 404 ? 'not found' : 'not ready');
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  held.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
