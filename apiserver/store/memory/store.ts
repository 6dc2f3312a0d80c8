import type { Ids } from '../../../resources/ambient/ids.ts';
import { LogStore, type LogStoreOptions } from '../log-store.ts';
import type { StoreBirth } from '../store.ts';
import { MemoryEngine } from './engine.ts';

/** A test double: every guarantee of the contract except surviving the process. */
export class MemoryStore extends LogStore {
  static async open(
    options: LogStoreOptions & { readonly ids: Ids; readonly birth?: StoreBirth },
  ): Promise<MemoryStore> {
    return new MemoryStore(new MemoryEngine(options.birth ?? { uid: options.ids.uid(), revision: 0 }), options);
  }
}
