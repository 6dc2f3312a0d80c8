import { StoreError } from '../store.ts';
import { EtcdConnection } from './connection.ts';
import { findCompacted, type Identity, openIdentity } from './identity.ts';
import { Layout } from './layout.ts';
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

/** Opens the store whose identity `identify` gives. */
export async function openEtcdStoreAs(
  options: EtcdStoreOptions,
  identify: (connection: EtcdConnection, layout: Layout) => Promise<Identity>,
): Promise<EtcdStore> {
  const connection = new EtcdConnection(options);
  try {
    const layout = new Layout(options.root ?? DEFAULT_ROOT);
    const identity = await identify(connection, layout);
    const compacted = await findCompacted(connection, layout, identity);
    return new EtcdStore({ connection, layout, ...identity }, compacted, options);
  } catch (error) {
    const failure = readError(error);
    connection.close(new StoreError('Closed', 'the store could not be opened', { cause: failure }));
    throw failure;
  }
}
