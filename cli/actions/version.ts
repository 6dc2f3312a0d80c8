import { valueAt } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { explain } from '../explain.ts';
import { type Io, printLine } from '../io.ts';
import { renderJson } from '../render/json.ts';
import { outputOf } from '../render/output.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession } from '../session.ts';

export interface ServerVersion {
  readonly server: string;
  readonly version: string;
}

/** Prints both versions. That there is no server is an answer too, not a failure. */
export async function showVersion(io: Io, target: Target, client: string, flag: string | undefined): Promise<void> {
  const found = await serverVersion(io, target);
  const output = outputOf(io, flag);
  if (output === 'json' || output === 'yaml') {
    const value = { client: { version: client, node: process.versions.node }, server: found };
    io.stdout.write(output === 'json' ? renderJson(value) : renderYaml(value));
    return;
  }
  printLine(io, `Client: ${client} (Node.js ${process.versions.node})`);
  printLine(io, 'error' in found ? `Server: none (${found.error})` : `Server: ${found.version} at ${found.server}`);
}

async function serverVersion(io: Io, target: Target): Promise<ServerVersion | { readonly error: string }> {
  try {
    await using session = await openSession(io, target);
    const answer = await session.client.json({ method: 'GET', path: '/version', signal: io.signal });
    return { server: session.connection.server, version: String(valueAt(answer, ['gitVersion']) ?? 'unknown') };
  } catch (error) {
    if (io.signal.aborted) throw error;
    return { error: explain(error)?.message ?? String(error) };
  }
}
