import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { describeStore } from './contract.ts';

describeStore({
  name: 'memory',
  histories: 60,
  stages: true,
  reopens: false,
  async open(options = {}) {
    const store = await MemoryStore.open({ ...options, ids: systemIds });
    return { store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  },
});
