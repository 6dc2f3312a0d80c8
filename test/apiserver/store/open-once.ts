/** Opens the store given as argument in a process of its own, prints `open` or the reason it was refused, and ends. */
import { SqliteStore } from '../../../apiserver/store/sqlite/store.ts';
import { StoreError } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

try {
  await using store = await SqliteStore.open({ path: process.argv[2] ?? '', ids: systemIds });
  process.stdout.write(`open ${store.uid}`);
} catch (error) {
  process.stdout.write(error instanceof StoreError ? error.reason : String(error));
}
