import type { Host } from '../../resources/kinds/host.ts';
import type { Target } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import { type Io, printLine } from '../io.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';

export interface TrustStoreOptions {
  readonly words: readonly string[];
  readonly all: boolean;
}

/** Says on Hosts that the store they found is to be believed, though it is not the one, or not as new as, they knew. Each is told of the store it named itself. */
export async function trustStore(io: Io, target: Target, { words, all }: TrustStoreOptions): Promise<void> {
  if ((words.length === 0) !== all) throw usage('name hosts, or say --all', 'host trust-store');
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const chosen = all
    ? (await hosts.list({}, io.signal)).items
    : await Promise.all(words.map((name) => hosts.get(name, io.signal)));
  for (const { metadata, spec, status } of chosen) {
    const found = status?.distrustedStore;
    if (found === undefined || found === spec.trustedStore) {
      if (!all)
        printLine(
          io,
          `host.coppice.dev/${metadata.name} unchanged: it ${found === undefined ? 'trusts' : 'is told to trust'} its store`,
        );
      continue;
    }
    await hosts.patch(metadata.name, { spec: { trustedStore: found } }, { fieldManager: 'coppice' }, io.signal);
    printLine(io, `host.coppice.dev/${metadata.name} trusts ${found}`);
  }
  if (all && chosen.every(({ status }) => status?.distrustedStore === undefined))
    printLine(io, 'every host trusts its store');
}
