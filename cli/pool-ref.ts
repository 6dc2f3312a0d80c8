import type { KubeObject } from '../resources/meta/object.ts';
import { Failure, usage } from './failure.ts';

/** What commands look at in a Pool. */
export interface PoolView extends KubeObject {
  spec?: { replicas?: number };
  status?: { wanted?: number; ready?: number; warming?: number; observedGeneration?: number };
}

/** The one Pool a command is about: `NAME`, or `pool/NAME` as kubectl users write it. */
export function poolName(word: string | undefined, verb: string): string {
  if (word === undefined) throw usage('name the pool', verb);
  const name = word.replace(/^pools?(\.coppice\.dev)?\//, '');
  if (name === '' || name.includes('/')) throw new Failure(`"${word}" is not the name of a pool`);
  return name;
}
