import { silentLogger } from '../../../resources/ambient/log.ts';
import { StoreError } from '../store.ts';
import { EtcdConnection } from './connection.ts';
import { findCompacted, type Identity, openIdentity } from './identity.ts';
import { Layout } from './layout.ts';
import { Lease } from './lease.ts';
import { Membership } from './membership.ts';
import { ROOM } from './revisions.ts';
import { EtcdStore, type EtcdStoreOptions } from './store.ts';
import { readError } from './store-error.ts';

export const DEFAULT_ROOT = 'coppice';

/** Opens the store in etcd, and makes it where there is none yet. StoreError `Unavailable` when etcd does not answer within ten seconds, `Unreadable` when what is there is newer or not ours. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<EtcdStore> {
  return openEtcdStoreAs(options, (connection, layout) =>
    openIdentity(connection, layout, { ids: options.ids, room: options.room ?? ROOM }),
  );
}

/** Opens the store whose identity `identify` gives. Who only reads is no member, and takes nothing from those who are: what it sees is in etcd, but a server may not tell of it yet. */
export async function openEtcdStoreAs(
  options: EtcdStoreOptions,
  identify: (connection: EtcdConnection, layout: Layout) => Promise<Identity>,
  use: 'write' | 'read' = 'write',
): Promise<EtcdStore> {
  const connection = new EtcdConnection(options);
  try {
    const layout = new Layout(options.root ?? DEFAULT_ROOT);
    // Most stores are of members only: a lease that is not needed ends by itself.
    const granted = use === 'read' || options.room === 1 ? undefined : Lease.grant(connection, options.ids);
    granted?.catch(() => {});
    const identity = await identify(connection, layout);
    const { log = silentLogger } = options;
    const joining = () => Membership.join({ ...options, ...identity, connection, layout, log }, granted);
    const [compacted, membership] = await Promise.all([
      findCompacted(connection, layout, identity),
      use === 'write' && identity.membersOnly ? joining() : undefined,
    ]);
    return new EtcdStore({ connection, layout, ...identity, membership }, compacted, options);
  } catch (error) {
    const failure = readError(error);
    connection.close(new StoreError('Closed', 'the store could not be opened', { cause: failure }));
    throw failure;
  }
}
