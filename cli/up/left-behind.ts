import type { ApiClient } from '../../apiserver/client/client.ts';
import { Host } from '../../resources/kinds/host.ts';
import { firstOf } from '../../resources/meta/first-of.ts';
import type { Steps } from '../serve/steps.ts';

/**
 * Hosts of the store that this start does not run, as after a start with another driver or fewer simulated hosts; told, as their VMs cannot be
 * reached.
 */
export async function tellLeftBehind(
  client: ApiClient,
  running: readonly string[],
  steps: Steps,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { items } = await client.resource<Host>(Host).list({}, signal);
  const left = items.map((host) => host.metadata.name).filter((name) => !running.includes(name));
  if (left.length > 0) {
    steps.say(
      `  not run by this start: ${firstOf(left, 3)}. VMs there cannot be reached until they are, or the hosts are deleted`,
    );
  }
  return new Set(left);
}
