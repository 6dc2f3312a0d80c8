import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { type ImageDeps, reconcile } from './reconcile.ts';

/** Changes of hosts are gathered this long: a fleet that comes up tells of an image a thousand times. */
const GATHER_MS = 50;

/** Says of each image what the hosts found: its digest, its size, and who has it. */
export function imageDuty({ client, informers, clock }: DutyParts): Duty {
  const images = informers.of(Image);
  const hosts = informers.of(Host);
  const hostsByImage = hosts.index((host) => namesOn(host));
  const deps: ImageDeps = { client, images, hostsByImage, clock };
  return {
    name: 'image',
    watches: [watchCache(images, ({ key }) => [key]), watchCache(hosts, imagesTouchedBy, GATHER_MS)],
    workers: 2,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

const namesOn = (host: Host | undefined): string[] => (host?.status?.images ?? []).map((image) => image.name);

function imagesTouchedBy({ before, after }: Change<Host>): Iterable<string> {
  if (jsonEqual(before?.status?.images, after?.status?.images)) return [];
  return new Set([...namesOn(before), ...namesOn(after)]);
}
