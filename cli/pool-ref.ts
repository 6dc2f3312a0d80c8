import type { KubeObject } from '../resources/meta/object.ts';
import { oneName } from './one-name.ts';

/** What commands look at in a Pool. */
export interface PoolView extends KubeObject {
  spec?: { replicas?: number };
  status?: { wanted?: number; ready?: number; warming?: number; observedGeneration?: number };
}

/** The one Pool a command is about: `NAME`, or `pool/NAME` as kubectl users write it. */
export const poolName = oneName('pool', /^pools?(\.coppice\.dev)?\//);
