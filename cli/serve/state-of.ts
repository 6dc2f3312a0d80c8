import type { Home } from './home.ts';
import type { StoreOptions } from './store-options.ts';

/** Where state is kept, for people. */
export function stateOf(store: StoreOptions, home: Home): string {
  return store.kind === 'sqlite' ? home.path : `etcd at ${store.endpoints.join(', ')}`;
}
