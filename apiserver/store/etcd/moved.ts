import { silentLogger } from '../../../resources/ambient/log.ts';
import { signalUntil } from '../../../resources/ambient/signal-until.ts';
import { StoreError } from '../store.ts';
import { readIdentityRecord } from './identity.ts';
import type { MoveMark } from './identity-record.ts';
import { Membership } from './membership.ts';
import type { EtcdStoreOptions } from './store.ts';
import { replaceIdentity, withEtcd } from './unfinished.ts';

/** A lease that is not ended ends by itself. */
const LEAVE_MS = 1_000;

/**
 * Says in etcd that the store there was moved away, or, with undefined, that it was not after all. Whoever has it open loses it at once, and nobody
 * can open it while it says so. Throws `Unreadable` when there is no whole store of that uid.
 */
export async function markEtcdMoved(
  options: EtcdStoreOptions,
  uid: string | undefined,
  mark: MoveMark | undefined,
): Promise<void> {
  await withEtcd(options, async (connection, layout) => {
    const found = await readIdentityRecord(connection, layout);
    if (found === undefined) throw new StoreError('Unreadable', `there is no store under ${layout.root} in etcd`);
    const { moved: _, ...record } = found.record;
    if (record.unfinished) throw new StoreError('Unreadable', `the store under ${layout.root} in etcd is not complete`);
    if (uid !== undefined && record.uid !== uid)
      throw new StoreError('Unreadable', `the store under ${layout.root} in etcd is ${record.uid}, not ${uid}`);
    const { ids, clock, log = silentLogger } = options;
    // Who answers reads without asking etcd would not hear of it at once.
    const deps = { connection, layout, writtenAt: found.modRevision, clock, ids, log };
    const member = record.membersOnly ? await Membership.join(deps) : undefined;
    const next = mark === undefined ? record : { ...record, moved: mark };
    await replaceIdentity(connection, layout, found.modRevision, next, member?.fence);
    const { signal, stop } = signalUntil([], { afterMs: LEAVE_MS, late: () => new Error('no answer in time'), clock });
    await member?.leave(signal).catch(() => {});
    stop();
  });
}
