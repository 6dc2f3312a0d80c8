import { hostname } from 'node:os';
import type { HolderMark } from '../../apiserver/store/etcd/sole-record.ts';
import type { Store } from '../../apiserver/store/store.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { refuseMarked } from './store-marks.ts';
import type { StoreOptions } from './store-options.ts';

interface StoreDeps {
  /** Where the file of an embedded store is. */
  readonly path: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** Opens the store that was asked for, and makes it where there is none yet. Throws StoreError, and a `Failure` for one that nobody may serve from. Only the one that is opened is loaded. */
export async function openStore(options: StoreOptions, { path, clock, ids, log }: StoreDeps): Promise<Store> {
  if (options.kind === 'sqlite') {
    refuseMarked(path);
    const { SqliteStore } = await import('../../apiserver/store/sqlite/store.ts');
    return SqliteStore.open({ path, ids });
  }
  const { openEtcdStore } = await import('../../apiserver/store/etcd/open-store.ts');
  const { kind: _kind, ...etcd } = options;
  return openEtcdStore({ ...etcd, clock, ids, log, holderMark: () => ownMark(clock) });
}

/** What others on this machine know this process by. It is found out only when it is needed, as that takes a moment. */
async function ownMark(clock: Clock): Promise<HolderMark | undefined> {
  const [{ processMark }, { machineProcesses }] = await Promise.all([
    import('./controllers/process-mark.ts'),
    import('../../nodelet/drivers/qemu/machine-processes.ts'),
  ]);
  return processMark({ processes: machineProcesses(clock), hostname: hostname(), pid: process.pid });
}
