/** The store worker: the one thread that owns the SQLite connection. Entry file of a worker thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openError } from './errors.ts';
import { openFile } from './open-file.ts';
import type { WorkerOptions } from './protocol.ts';
import { Session } from './session.ts';

function run(port: MessagePort, { path, birth }: WorkerOptions): void {
  try {
    const session = new Session(openFile(path, birth), path, (reply, transfer) => port.postMessage(reply, transfer));
    port.on('message', (request) => {
      if (session.handle(request)) port.close();
    });
  } catch (error) {
    const { reason, message } = openError(error, path);
    port.postMessage({ kind: 'refused', error: { reason, message } });
    port.close();
  }
}

if (parentPort === null) throw new Error('the store worker runs as a worker thread only');
run(parentPort, workerData);
