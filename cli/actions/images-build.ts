import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Target } from '../coppice-command.ts';
import { Failure, usage } from '../failure.ts';
import { coppiceHome, type Io, printLine, warn } from '../io.ts';
import { packageRoot } from '../package-root.ts';
import { openSession } from '../session.ts';
import { IMAGES } from '../vm-ref.ts';
import { readObjects, type SourceObject } from '../yaml/documents.ts';

export interface ImagesBuildOptions {
  readonly words: readonly string[];
  readonly home: string | undefined;
}

/** The images there is a recipe for, and the manifest that puts each in the catalog. */
const MANIFESTS: Readonly<Record<string, string>> = { 'tiny-linux': 'manifests/quickstart/image.yaml' };

/** Builds the image into the images folder of a home, and adds it to the catalog when it is not in it. */
export async function buildImage(io: Io, target: Target, options: ImagesBuildOptions): Promise<void> {
  const [name, extra] = options.words;
  const known = Object.keys(MANIFESTS).join(', ');
  if (name === undefined || extra !== undefined) throw usage(`name one image to build: ${known}`, 'images build');
  const manifest = MANIFESTS[name];
  if (manifest === undefined)
    throw new Failure(`there is no recipe for an image "${name}"`, { hint: `there is ${known}` });
  const home = resolve(io.cwd, coppiceHome(io, options.home));
  const outDir = join(home, 'images', name);
  // The one verb that reaches into the nodelet: the recipe is its own, and is loaded for this verb only.
  const { buildTinyLinux } = await import('../../nodelet/images/build-tiny-linux.ts');
  const { built } = await buildTinyLinux(
    { outDir, cacheDir: join(home, 'cache', 'packages'), packageRoot: packageRoot(), report: (step) => warn(io, step) },
    io.signal,
  );
  printLine(io, built ? `built ${outDir}` : `${outDir} is up to date`);
  const own = join(home, 'kubeconfig');
  const chosen = target.kubeconfig ?? (options.home !== undefined && existsSync(own) ? own : undefined);
  await addToCatalog(io, { ...target, kubeconfig: chosen }, name, join(packageRoot(), manifest));
}

async function addToCatalog(io: Io, target: Target, name: string, file: string): Promise<void> {
  const image = readObjects(file, await readFile(file)).find(({ object }) => object.kind === 'Image');
  if (image === undefined) throw new Failure(`${file} holds no Image`);
  try {
    await using session = await openSession(io, target);
    printLine(
      io,
      `image.coppice.dev/${name} ${await createIfAbsent(session.client.resource(IMAGES), image, io.signal)}`,
    );
  } catch (error) {
    // An image can be built before there is a server; coppice up adds it then.
    if (!(error instanceof UnreachableError) && !(error instanceof Failure)) throw error;
    warn(io, `not added to a catalog: ${error.message}`);
  }
}

async function createIfAbsent(
  images: { create(object: SourceObject['object'], options: object, signal: AbortSignal): Promise<unknown> },
  image: SourceObject,
  signal: AbortSignal,
): Promise<'created' | 'unchanged'> {
  try {
    await images.create(image.object, { fieldManager: 'coppice' }, signal);
    return 'created';
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'AlreadyExists') return 'unchanged';
    throw error;
  }
}
