/**
 * A process to be killed: compacts a store and goes on writing. It kills itself after so many writes that were acknowledged while the
 * compaction was under way; it exits with 1 when the compaction was over sooner. Arguments: store path, writes.
 */
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { txn } from './store-maker.ts';

const [path = '', writes = ''] = process.argv.slice(2);
const store = await SqliteStore.open({ path, ids: systemIds });
void store.compact(store.revision()).then(() => process.exit(1));
for (let i = 0; i < Number(writes); i++) await store.txn(txn({ put: { meanwhile: `${i}` } })).done;
process.kill(process.pid, 'SIGKILL');
