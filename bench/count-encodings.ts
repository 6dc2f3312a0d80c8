import { OPERATOR } from '../apiserver/auth/identity.ts';
import { ApiClient } from '../apiserver/client/client.ts';
import { startApiServer } from '../apiserver/server.ts';
import { MemoryStore } from '../apiserver/store/memory/store.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { Image } from '../resources/kinds/image.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import type { BenchWorld } from './goal.ts';
import { anImage, imageName } from './images.ts';

/** How often one event was encoded for so many watchers of one media type: each encoding is put where the next watcher finds it. */
export async function countEncodings(watchers: number, { clock, ids }: BenchWorld): Promise<number> {
  await using store = await MemoryStore.open({ ids });
  const platform = { platform: 'linux/amd64', runtime: process.version };
  const rest = { name: 'bench', clock, ids, random: Math.random, log: silentLogger, platform };
  await using server = await startApiServer({ store, operatorTokenHash: '', sealingKeys: [ids.secret(32)], ...rest });
  const images = new ApiClient(server.transportFor(OPERATOR)).resource<Image>(Image);
  const { metadata } = await images.create(anImage(0));
  let encodings = 0;
  server.parts.cache.resource(resourceId(Image)).listen(({ encoded }) => {
    const keep = encoded.set.bind(encoded);
    encoded.set = (key, bytes) => {
      encodings++;
      return keep(key, bytes);
    };
  });
  const ending = new AbortController();
  const heard = Array.from({ length: watchers }, async () => {
    const options = { resourceVersion: metadata.resourceVersion };
    for await (const event of await images.watch(options, ending.signal)) return event.type;
    return undefined;
  });
  await images.patch(imageName(0), { spec: { displayName: 'told' } });
  await Promise.all(heard);
  ending.abort();
  return encodings;
}
