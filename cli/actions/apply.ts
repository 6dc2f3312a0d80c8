import type { NewObject, WriteOptions } from '../../apiserver/client/client.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { LAST_APPLIED, lastApplied, withLastApplied } from '../../resources/meta/last-applied.ts';
import { isObject, type JsonObject, type KubeObject, type ObjectMeta } from '../../resources/meta/object.ts';
import { type PlacedObject, placeObjects } from '../apply/placed.ts';
import { readSources } from '../apply/sources.ts';
import { threeWayPatch } from '../apply/three-way.ts';
import type { Target } from '../coppice-command.ts';
import { explain } from '../explain.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { renderJson } from '../render/json.ts';
import { withoutManagedFields } from '../render/managed-fields.ts';
import { objectName } from '../render/name.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession, type Session } from '../session.ts';

export interface ApplyOptions {
  readonly words: readonly string[];
  readonly files: readonly string[];
  readonly kustomize: string | undefined;
  readonly recursive: boolean;
  readonly dryRun: boolean;
  readonly validate: string;
  /** The server merges, and refuses to alter what others own unless forced. */
  readonly serverSide: boolean;
  readonly force: boolean;
  readonly fieldManager: string;
  readonly output: string | undefined;
}

/** Someone else may write between our reading and our patch. */
const ATTEMPTS = 5;
/** The name that owns what coppice applies, unless another is given. */
export const FIELD_MANAGER = 'coppice';

type Outcome = 'created' | 'configured' | 'unchanged' | 'serverside-applied';

/** Makes every object of the files as they say, in their order. One that fails does not keep the others from being applied. */
export async function apply(io: Io, target: Target, options: ApplyOptions): Promise<void> {
  const [word] = options.words;
  if (word !== undefined) throw usage(`apply takes no argument, but got "${word}"; files follow -f`, 'apply');
  if (options.files.length === 0 && options.kustomize === undefined)
    throw usage('say what to apply with -f or -k', 'apply');
  const sources = await readSources(io, options, 'apply');
  if (sources.length === 0) throw new Failure('there is no object in what was given to apply');
  await using session = await openSession(io, target);
  const applied: KubeObject[] = [];
  let failed = 0;
  for (const placed of await placeObjects(session, sources)) {
    try {
      const { outcome, object } = await (options.serverSide ? applyOnServer : applyOne)(session, placed, options);
      applied.push(object);
      if (options.output === undefined || options.output === 'table' || options.output === 'wide')
        printLine(
          io,
          `${objectName(placed.resource, placed.name)} ${outcome}${options.dryRun ? ' (server dry run)' : ''}`,
        );
      else if (options.output === 'name') printLine(io, objectName(placed.resource, placed.name));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failed++;
      reportFailure(io, placed, error);
    }
  }
  if (options.output === 'json' || options.output === 'yaml') printApplied(io, applied, options.output);
  if (failed > 0) throw new Exit(1);
}

function writeOptions(io: Io, options: ApplyOptions): WriteOptions {
  return {
    fieldManager: options.fieldManager,
    fieldValidation: VALIDATION[options.validate] ?? 'Strict',
    dryRun: options.dryRun,
    onWarning: (text: string) => warn(io, `Warning: ${text}`),
  };
}

async function applyOnServer(
  { client, io }: Session,
  placed: PlacedObject,
  options: ApplyOptions,
): Promise<{ outcome: Outcome; object: KubeObject }> {
  const resource = client.resource<KubeObject>(placed.resource, placed.namespace);
  const write = { ...writeOptions(io, options), force: options.force, type: 'application/apply-patch+yaml' as const };
  const object = await resource.patch(placed.name, placed.object, write, io.signal);
  return { outcome: 'serverside-applied', object };
}

async function applyOne(
  session: Session,
  placed: PlacedObject,
  options: ApplyOptions,
): Promise<{ outcome: Outcome; object: KubeObject }> {
  const { client, io } = session;
  const resource = client.resource<KubeObject>(placed.resource, placed.namespace);
  const wanted = withLastApplied(placed.object);
  const write = writeOptions(io, options);
  for (let attempt = 1; ; attempt++) {
    try {
      const current = await existing(() => resource.get(placed.name, io.signal));
      if (current === undefined)
        return { outcome: 'created', object: await resource.create(asObject(wanted), write, io.signal) };
      warnOfForeign(io, placed, current);
      const patch = threeWayPatch(lastApplied(current) ?? {}, wanted, current);
      if (Object.keys(patch).length === 0) return { outcome: 'unchanged', object: current };
      const object = await resource.patch(placed.name, patch, write, io.signal);
      const same = object.metadata.resourceVersion === current.metadata.resourceVersion && !options.dryRun;
      return { outcome: same ? 'unchanged' : 'configured', object };
    } catch (error) {
      const raced = error instanceof ApiError && (error.reason === 'Conflict' || error.reason === 'AlreadyExists');
      if (!raced || attempt >= ATTEMPTS) throw error;
    }
  }
}

const VALIDATION: Readonly<Record<string, 'Strict' | 'Warn' | 'Ignore'>> = {
  strict: 'Strict',
  true: 'Strict',
  warn: 'Warn',
  ignore: 'Ignore',
  false: 'Ignore',
};

async function existing(get: () => Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await get();
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
    throw error;
  }
}

function asObject(object: JsonObject): NewObject<KubeObject> {
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isObject(metadata))
    throw new Error('an object without apiVersion, kind or metadata came past the reader');
  // The server fills in uid, resourceVersion and creationTimestamp.
  return { ...object, apiVersion, kind, metadata: metadata as Partial<ObjectMeta> };
}

function warnOfForeign(io: Io, placed: PlacedObject, current: KubeObject): void {
  if (current.metadata.annotations?.[LAST_APPLIED] !== undefined) return;
  warn(
    io,
    `Warning: ${objectName(placed.resource, placed.name)} was not made by apply; from now on apply keeps record of what it says`,
  );
}

function reportFailure(io: Io, placed: PlacedObject, error: ApiError): void {
  const explained = explain(error);
  const { file, document, line } = placed.source;
  warn(io, `error: ${file}, document ${document}, line ${line}: ${explained?.message ?? error.message}`);
  for (const detail of explained?.details ?? []) warn(io, `  * ${detail}`);
  if (explained?.hint !== undefined) warn(io, `hint: ${explained.hint}`);
}

function printApplied(io: Io, applied: readonly KubeObject[], output: 'json' | 'yaml'): void {
  const objects = applied.map(withoutManagedFields);
  const value =
    objects.length === 1
      ? objects[0]
      : { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: objects };
  io.stdout.write(output === 'json' ? renderJson(value) : renderYaml(value));
}
