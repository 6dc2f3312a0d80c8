import type { BenchWorld } from './goal.ts';

/** A store that the API server is measured on. */
export interface Backend {
  readonly kind: 'file' | 'etcd';
  /** What is put behind the title of a contest. */
  readonly suffix: string;
  /** What a server process is told besides its folder. */
  readonly args: readonly string[];
}

/** The file store, and etcd where there is one. `root` keeps what goals put there apart. */
export async function backends(world: BenchWorld, root: string): Promise<readonly Backend[]> {
  const file: Backend = { kind: 'file', suffix: '', args: [] };
  const etcd = await world.etcd();
  return etcd === undefined ? [file] : [file, { kind: 'etcd', suffix: ', etcd', args: [etcd.endpoint, root] }];
}
