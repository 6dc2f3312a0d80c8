/**
 * A process to be killed: several writers on one store, each write acknowledged on stdout as `writer number revision .`.
 * The dot tells a whole line from one the kill cut.
 * Arguments: store path, round, writers.
 */
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { txn } from './store-maker.ts';

const [path = '', round = '', writers = ''] = process.argv.slice(2);

async function writeForever(store: Store, writer: number): Promise<never> {
  const last = `${round}/${writer}/last`;
  let revision = 0;
  for (let number = 0; ; number++) {
    const key = `${round}/${writer}/${number}`;
    const put = { [`${key}/a`]: `${number}`, [`${key}/b`]: `${number}`, [last]: `${number}` };
    const result = await store.txn(txn({ if: { [last]: revision }, put })).done;
    if (!result.ok) throw new Error(`somebody else wrote ${last}`);
    revision = result.revision;
    process.stdout.write(`${writer} ${number} ${revision} .\n`);
  }
}

const store = await SqliteStore.open({ path, ids: systemIds });
await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => writeForever(store, writer)));
