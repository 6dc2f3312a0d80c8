import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import { writeStatus } from '../runtime/write.ts';
import { findingsOf, imageStatus } from './decide.ts';

export interface ImageDeps {
  readonly client: ApiClient;
  readonly images: CacheView<Image>;
  readonly hostsByImage: IndexView<Host>;
  readonly clock: Clock;
}

export async function reconcile(key: string, deps: ImageDeps, signal: AbortSignal): Promise<Outcome> {
  const image = deps.images.get(key);
  if (image === undefined) return {};
  const status = imageStatus(image, findingsOf(key, deps.hostsByImage.get(key)), deps.clock.now());
  await writeStatus(deps.client.resource<Image>(Image), image, status, signal);
  return {};
}
