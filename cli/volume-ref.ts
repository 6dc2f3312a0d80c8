import type { KubeObject } from '../resources/meta/object.ts';
import { oneName } from './one-name.ts';

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
export const volumeName = oneName('volume', /^(vol|volumes?|volumes?\.coppice\.dev)\//);
