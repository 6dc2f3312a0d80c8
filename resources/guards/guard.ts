import type { KubeObject } from '../meta/object.ts';
import type { WorldView } from './world.ts';

/** One write, before it happens: `before` undefined = create, `after` undefined = removal. */
export interface Change<T extends KubeObject = KubeObject> {
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** `status` and the like; undefined = the object itself. */
  readonly subresource?: string;
}

/** Who asks for a write. */
export interface Asker {
  readonly user: string;
  /** May set rules aside. */
  readonly operator: boolean;
}

/** When a write is judged, by the server's clock, and who asks for it. */
export interface GuardContext {
  readonly nowMs: number;
  readonly asker: Asker;
}

/**
 * Why a write may not happen. `Forbidden` answers 403 with `cause`, where there is one, as its cause reason; `Invalid` answers 422 on `field`.
 * The message is one line with the numbers in it.
 */
export type Refusal =
  | { readonly answer: 'Forbidden'; readonly cause?: string; readonly message: string }
  | {
      readonly answer: 'Invalid';
      readonly field: string;
      readonly cause: 'FieldValueInvalid' | 'FieldValueForbidden';
      readonly message: string;
    };

/**
 * Keys in the store that writes touching one sum agree on. `bump` keys are compared and rewritten by the write; `compare` keys are only
 * compared, so unrelated writers pass each other.
 */
export interface FenceKeys {
  readonly bump: readonly string[];
  readonly compare: readonly string[];
}

export const NO_FENCES: FenceKeys = { bump: [], compare: [] };

/**
 * A rule over more than one object. Pure: (change, world, context) → refusal. A write that can change a guard's answer for somebody else names the
 * guard's fence keys, even if the guard does not judge it.
 */
export interface Guard<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** What it refuses to delete is never deleted, whatever else there is. */
  readonly lasting?: true;
  fences(change: Change<T>, world: WorldView): FenceKeys;
  judge(change: Change<T>, world: WorldView, context: GuardContext): Refusal | undefined;
}

/** As many as a write may name, less two. */
const IMAGE_SHARDS = 6;

function shardOf(uid: string): number {
  let sum = 0;
  for (let i = 0; i < uid.length; i++) sum += uid.charCodeAt(i);
  return sum % IMAGE_SHARDS;
}

export const fence = {
  tenant: (namespace: string) => `fence/tenant/${namespace}`,
  /** Whether something new may begin there: apart from the sums, so that VMs are bound while others are made. */
  standing: (namespace: string) => `fence/standing/${namespace}`,
  host: (name: string) => `fence/host/${name}`,
  /** One of several: whoever keeps an image names the one that its uid comes to, whoever removes it all of them, and VMs of one image seldom wait for each other. */
  image: (name: string, user: string) => `fence/image/${name}/${shardOf(user)}`,
  images: (name: string) => Array.from({ length: IMAGE_SHARDS }, (_, shard) => `fence/image/${name}/${shard}`),
  unique: (what: string) => `fence/unique/${what}`,
  policy: 'fence/policy',
} as const;
