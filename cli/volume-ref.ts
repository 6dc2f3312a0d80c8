import type { KubeObject } from '../resources/meta/object.ts';
import { Failure, usage } from './failure.ts';

/** How Volumes are addressed; written out here because the kind itself brings the schema library with it. */
export const VOLUMES = {
  group: 'coppice.dev',
  version: 'v1',
  plural: 'volumes',
  kind: 'Volume',
  namespaced: true,
} as const;

/** What commands look at in a Volume. */
export interface VolumeView extends KubeObject {
  spec?: { size?: string; hostName?: string };
  status?: { id?: string; size?: string; observedGeneration?: number };
}

/** The one volume a command is about: `NAME`, or `volume/NAME` as kubectl users write it. */
export function volumeName(words: readonly string[], verb: string): string {
  const [word, extra] = words;
  if (word === undefined) throw usage('name the volume', verb);
  if (extra !== undefined) throw usage(`one volume at a time, but got "${word}" and "${extra}"`, verb);
  const name = word.replace(/^(vol|volumes?|volumes?\.coppice\.dev)\//, '');
  if (name === '' || name.includes('/')) throw new Failure(`"${word}" is not the name of a volume`);
  return name;
}
