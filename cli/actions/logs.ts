import { once } from 'node:events';
import type { Target } from '../coppice-command.ts';
import type { Io } from '../io.ts';
import { openSession } from '../session.ts';
import { VMS, vmName } from '../vm-ref.ts';

export interface LogsOptions {
  readonly words: readonly string[];
  readonly follow: boolean;
  readonly tail: number | undefined;
}

/** Copies the console of a VM to stdout, byte for byte. */
export async function logs(io: Io, target: Target, options: LogsOptions): Promise<void> {
  const name = vmName(options.words, 'logs');
  await using session = await openSession(io, target);
  const parameters = new URLSearchParams({ follow: String(options.follow) });
  if (options.tail !== undefined) parameters.set('tailLines', String(options.tail));
  const path = `${session.client.resource(VMS, session.namespace).path(name, 'logs')}?${parameters}`;
  for await (const bytes of await session.client.stream({ method: 'GET', path, signal: io.signal })) {
    if (!io.stdout.write(bytes)) await once(io.stdout, 'drain', { signal: io.signal });
  }
}
