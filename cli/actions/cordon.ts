import type { Host } from '../../resources/kinds/host.ts';
import type { Target } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine } from '../io.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';

/** Has hosts take new VMs and leases no more, or again, which ends their drain too. */
export async function cordon(io: Io, target: Target, words: readonly string[], cordoned: boolean): Promise<void> {
  const verb = cordoned ? 'cordon' : 'uncordon';
  if (words.length === 0) throw usage('name hosts', verb);
  const names = words.map((word) => hostName([word], verb));
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const chosen = await Promise.all(names.map((name) => hosts.get(name, io.signal)));
  for (const { metadata, spec } of chosen) {
    const shown = `host.coppice.dev/${metadata.name}`;
    const drained = spec.drain !== undefined;
    if (cordoned ? spec.cordoned === true : spec.cordoned !== true && !drained) {
      printLine(io, `${shown} already ${verb}ed`);
      continue;
    }
    const wish = { cordoned: cordoned || null, ...(drained && !cordoned ? { drain: null } : {}) };
    await hosts.patch(metadata.name, { spec: wish }, { fieldManager: 'coppice' }, io.signal);
    printLine(io, `${shown} ${verb}ed${'drain' in wish ? ', its drain ended' : ''}`);
  }
}
