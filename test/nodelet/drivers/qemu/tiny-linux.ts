import { join } from 'node:path';
import { buildTinyLinux } from '../../../../nodelet/images/build-tiny-linux.ts';

const packageRoot = join(import.meta.dirname, '../../../..');
const cache = join(packageRoot, 'node_modules/.cache/coppice');

type Answer = { readonly imagesRoot: string; readonly digest: string } | string;

let made: Promise<Answer> | undefined;

/** The tiny Linux image, kept between runs; or a sentence on why it cannot be had. Looked after once a process: asking apt takes seconds. */
export function tinyLinux(): Promise<Answer> {
  made ??= make();
  return made;
}

async function make(): Promise<Answer> {
  const imagesRoot = join(cache, 'images');
  try {
    const options = {
      outDir: join(imagesRoot, 'tiny-linux'),
      cacheDir: join(cache, 'packages'),
      packageRoot,
      report: () => {},
    };
    const image = await buildTinyLinux(options, new AbortController().signal);
    return { imagesRoot, digest: image.facts.digest };
  } catch (error) {
    return `the tiny-linux image cannot be built: ${error instanceof Error ? error.message : String(error)}`;
  }
}
