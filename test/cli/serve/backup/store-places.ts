import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openEtcdStore } from '../../../../apiserver/store/etcd/open-store.ts';
import { whatIsInEtcd } from '../../../../apiserver/store/etcd/unfinished.ts';
import { SqliteStore } from '../../../../apiserver/store/sqlite/store.ts';
import type { Store } from '../../../../apiserver/store/store.ts';
import { refuseMarked } from '../../../../cli/serve/store-marks.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';
import type { EtcdServer } from '../../../harness/etcd-server.ts';

const COPPICE = join(import.meta.dirname, '../../../../bin/coppice');

/** A place that a store can be in, as those see it who would serve from it. */
export interface StorePlace {
  /** Whether a server that starts there now would serve what is there. */
  served(): Promise<boolean>;
  open(): Promise<Store>;
}

export function homePlace(home: string): StorePlace {
  const path = join(home, 'state.db');
  return {
    async served() {
      try {
        refuseMarked(path);
      } catch {
        return false;
      }
      return existsSync(path);
    },
    async open() {
      await mkdir(home, { recursive: true });
      return SqliteStore.open({ path, ids: systemIds });
    },
  };
}

export function etcdPlace(etcd: EtcdServer, root: string): StorePlace {
  const options = { endpoints: etcd.endpoints, root, clock: systemClock, ids: systemIds };
  return {
    async served() {
      const found = await whatIsInEtcd(options);
      return found !== undefined && found.unfinished === undefined && found.moved === undefined;
    },
    open: () => openEtcdStore(options),
  };
}

/** Everything in a store: keys to values. */
export async function contentOf(place: StorePlace): Promise<ReadonlyMap<string, string>> {
  await using store = await place.open();
  const { entries } = await store.range({ prefix: '' });
  return new Map(entries.map(({ key, value }) => [key, Buffer.from(value).toString('base64')]));
}

/** Fills a store with so many keys of a kilobyte or two. */
export async function fill(place: StorePlace, keys: number): Promise<void> {
  await using store = await place.open();
  for (let from = 0; from < keys; from += 100) {
    const count = Math.min(100, keys - from);
    const puts = Array.from({ length: count }, (_, i) => ({
      key: `objects/coppice.dev/vms/demo/vm-${String(from + i).padStart(6, '0')}`,
      value: Buffer.from(`{"n":${from + i},"fill":"${systemIds.secret(500)}"}`),
    }));
    const result = await store.txn({ compares: [], puts, deletes: [] }).done;
    assert.ok(result.ok);
  }
}

interface CommandEnd {
  readonly code: number | null;
  readonly output: string;
}

/** Runs `coppice` as a process, and kills it after so many milliseconds if it has not ended by then. */
export async function coppice(args: readonly string[], killAfterMs?: number): Promise<CommandEnd> {
  const child = spawn(COPPICE, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const over = new AbortController();
  if (killAfterMs !== undefined) {
    void delay(killAfterMs, undefined, { signal: over.signal }).then(
      () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'),
      () => {},
    );
  }
  const code = await closed;
  over.abort();
  return { code, output };
}
