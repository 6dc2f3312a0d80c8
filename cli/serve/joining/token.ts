import type { Target } from '../../coppice-command.ts';
import { type Io, printLine } from '../../io.ts';
import { openSession } from '../../session.ts';
import { formatJoinLine } from './join-line.ts';

interface Minted {
  readonly status: { readonly token: string; readonly authorities: readonly string[] };
}

/** Prints a token by which one new server is let in. */
export async function printJoinToken(io: Io, target: Target): Promise<void> {
  await using session = await openSession(io, target);
  const minted = (await session.client.json({
    method: 'POST',
    path: '/apis/coppice.dev/v1/policies/default/jointoken',
    headers: { 'content-type': 'application/json' },
    body: new TextEncoder().encode(JSON.stringify({ apiVersion: 'coppice.dev/v1', kind: 'JoinToken' })),
    signal: io.signal,
  })) as Minted;
  const { token, authorities } = minted.status;
  printLine(io, formatJoinLine({ token, authorities, server: session.connection.server }));
}
