import type { Volume } from '../kinds/volume.ts';
import type { AdmissionContext } from '../meta/define-kind.ts';
import { holding } from './holding.ts';
import { HOSTS } from './refs.ts';

/** Keeps a Volume object until its file is gone; removed by the nodelet of its host, or by the volume duty where there is none. */
export const VOLUME_FINALIZER = 'coppice.dev/volume';

/** Admission of a Volume: its finalizer while it lives, and with its host, in one write, which Host of that name it is. */
export function admitVolume(draft: Volume, previous: Volume | undefined, { world }: AdmissionContext): Volume {
  const { hostName } = draft.spec;
  const host = hostName === previous?.spec.hostName ? undefined : world.get(HOSTS, undefined, hostName ?? '');
  const bound = host === undefined ? draft : { ...draft, status: { ...draft.status, hostUID: host.metadata.uid } };
  return holding(bound, VOLUME_FINALIZER);
}
