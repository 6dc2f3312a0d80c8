import type { NewObject } from '../apiserver/client/client.ts';
import type { Image } from '../resources/kinds/image.ts';

const PADDING = 'a sentence that makes the object as long as those of real fleets are, '.repeat(23);

/** An object of about 2 KB as it is stored. */
export function anImage(i: number): NewObject<Image> {
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Image',
    metadata: { name: imageName(i), annotations: { 'bench.coppice.dev/padding': PADDING } },
    spec: { displayName: `Image ${i}`, guestOS: 'linux', source: { path: imageName(i) } },
  };
}

export function imageName(i: number): string {
  return `image-${String(i).padStart(5, '0')}`;
}

export const IMAGES_PATH = '/apis/coppice.dev/v1/images';
