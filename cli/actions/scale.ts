import { ApiError } from '../../resources/meta/api-error.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { placeObjects } from '../apply/placed.ts';
import { readSources } from '../apply/sources.ts';
import type { Target } from '../coppice-command.ts';
import { type ChosenObject, chosenObjects } from '../discovery/chosen-objects.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { objectName } from '../render/name.ts';
import { openSession, type Session } from '../session.ts';

interface ScaleOptions {
  readonly words: readonly string[];
  readonly replicas: number;
  readonly currentReplicas: number | undefined;
  readonly files: readonly string[];
  readonly recursive: boolean;
  readonly labelSelector: string | undefined;
  readonly all: boolean;
  readonly dryRun: boolean;
}

/** Sets how many replicas each of some objects wants. One that fails keeps no other from it. */
export async function scale(io: Io, target: Target, options: ScaleOptions): Promise<void> {
  const fromFiles = options.files.length > 0;
  if (fromFiles && options.words.length > 0) throw usage('give either files or names, not both', 'scale');
  const { files, recursive } = options;
  const sources = fromFiles ? await readSources(io, { files, recursive, kustomize: undefined }, 'scale') : [];
  await using session = await openSession(io, target);
  const chosen = fromFiles ? await placeObjects(session, sources) : await chosenObjects(session, options, 'scale');
  if (chosen.length === 0) throw new Failure('no objects passed to scale');
  let failed = 0;
  for (const one of chosen) {
    try {
      await scaleOne(session, one, options);
    } catch (error) {
      if (!(error instanceof ApiError) && !(error instanceof Failure)) throw error;
      warn(io, `error: ${error.message}`);
      failed++;
    }
  }
  if (failed > 0) throw new Exit(1);
}

async function scaleOne(session: Session, one: ChosenObject, options: ScaleOptions): Promise<void> {
  const { io, client } = session;
  const objects = client.resource<KubeObject>(one.resource, one.namespace);
  const shown = objectName(one.resource, one.name);
  const { currentReplicas, replicas, dryRun } = options;
  const orNotScaled = async (error: unknown): Promise<never> => {
    if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
    // Whichever is not there, the answer is the same.
    await objects.get(one.name, io.signal);
    throw new Failure(`${shown} cannot be scaled: a ${one.resource.kind} has no replicas`);
  };
  let metadata = {};
  if (currentReplicas !== undefined) {
    const path = objects.path(one.name, 'scale');
    const headers = { accept: 'application/json' };
    const scale = await client.json({ method: 'GET', path, headers, signal: io.signal }).catch(orNotScaled);
    const has = valueAt(scale, ['spec', 'replicas']) ?? 0;
    if (has !== currentReplicas) throw new Failure(`${shown} is to have ${has} replicas, not ${currentReplicas}`);
    // It may be scaled by somebody else meanwhile.
    metadata = { resourceVersion: valueAt(scale, ['metadata', 'resourceVersion']) };
  }
  const body = { metadata, spec: { replicas } };
  const patch = { subresource: 'scale', fieldManager: 'coppice', dryRun };
  await objects.patch(one.name, body, patch, io.signal).catch(orNotScaled);
  printLine(io, `${shown} scaled${dryRun ? ' (server dry run)' : ''}`);
}
