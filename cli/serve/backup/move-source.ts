import { existsSync } from 'node:fs';
import type { MoveMark } from '../../../apiserver/store/etcd/identity-record.ts';
import { type Store, StoreError } from '../../../apiserver/store/store.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Failure } from '../../failure.ts';
import { isRestoring, markMoved, movedMark, unmarkMoved } from '../store-marks.ts';
import type { StoreOptions } from '../store-options.ts';
import { openExistingEtcd } from './backup-source.ts';

/** A store that is to be moved away. */
export interface MoveSource {
  /** For people. */
  readonly name: string;
  /** Where it says it went, if a move was begun or done. */
  moved(): Promise<MoveMark | undefined>;
  /** Opens it so that nobody else can write to it any more. */
  open(mark: MoveMark): Promise<Store>;
  /** From here on nobody can serve from it. */
  close(uid: string, mark: MoveMark): Promise<void>;
  /** The same where it is not known whether there is a whole store at all. */
  closeIfThere(mark: MoveMark): Promise<void>;
  /** It can be served from again. */
  reopen(): Promise<void>;
}

/** The store of a home, or of etcd. The home must be locked. */
export function sourceOf(options: StoreOptions, path: string): MoveSource {
  return options.kind === 'sqlite' ? fileSource(path) : etcdSource(options);
}

function fileSource(path: string): MoveSource {
  return {
    name: path,
    moved: async () => movedMark(path),
    async open() {
      if (isRestoring(path)) throw new Failure(`a restore into ${path} did not come to its end`);
      if (!existsSync(path)) throw new Failure(`there is no store at ${path}`, { hint: 'name its home with --home' });
      const { SqliteStore } = await import('../../../apiserver/store/sqlite/store.ts');
      return SqliteStore.open({ path, ids: systemIds });
    },
    close: async (uid, mark) => markMoved(path, { ...mark, uid }),
    async closeIfThere(mark) {
      if (existsSync(path)) markMoved(path, { ...mark, uid: '' });
    },
    reopen: async () => unmarkMoved(path),
  };
}

/** Other processes may have it open: it says that it moved before anything is read, which ends them. */
function etcdSource(given: Extract<StoreOptions, { readonly kind: 'etcd' }>): MoveSource {
  const { kind: _kind, ...etcd } = given;
  const options = { ...etcd, clock: systemClock, ids: systemIds, log: silentLogger };
  const mark = async (uid: string | undefined, moved: MoveMark | undefined) => {
    const { markEtcdMoved } = await import('../../../apiserver/store/etcd/moved.ts');
    await markEtcdMoved(options, uid, moved);
  };
  return {
    name: `etcd at ${given.endpoints.join(', ')} under ${given.root}`,
    async moved() {
      const { whatIsInEtcd } = await import('../../../apiserver/store/etcd/unfinished.ts');
      const found = await whatIsInEtcd(options);
      if (found === undefined)
        throw new StoreError(
          'Unreadable',
          `there is no store under ${given.root} in etcd at ${given.endpoints.join(', ')}`,
        );
      return found.moved;
    },
    async open(moved) {
      await mark(undefined, moved);
      return openExistingEtcd(given, true);
    },
    close: mark,
    async closeIfThere(moved) {
      const { whatIsInEtcd } = await import('../../../apiserver/store/etcd/unfinished.ts');
      const found = await whatIsInEtcd(options);
      // One that is not complete is served from by nobody.
      if (found !== undefined && found.unfinished !== true) await mark(found.uid, moved);
    },
    reopen: () => mark(undefined, undefined),
  };
}
