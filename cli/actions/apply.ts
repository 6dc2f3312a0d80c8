import { ApiError } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { ApplySet } from '../apply/apply-set.ts';
import { type PlacedObject, placeObjects } from '../apply/placed.ts';
import { prune } from '../apply/prune.ts';
import { reportFailure } from '../apply/report-failure.ts';
import { type ApplyManner, isForeign, sendApply } from '../apply/send.ts';
import { readSources } from '../apply/sources.ts';
import type { Target } from '../coppice-command.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { renderJson } from '../render/json.ts';
import { withoutManagedFields } from '../render/managed-fields.ts';
import { objectName } from '../render/name.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession, type Session } from '../session.ts';

export interface ApplyOptions extends ApplyManner {
  readonly words: readonly string[];
  readonly files: readonly string[];
  readonly kustomize: string | undefined;
  readonly recursive: boolean;
  readonly output: string | undefined;
  /** `[RESOURCE/]NAME`; what is of this set and is applied no longer is deleted. */
  readonly applySet: string | undefined;
}

/** The name that owns what coppice applies, unless another is given. */
export const FIELD_MANAGER = 'coppice';

/** Makes every object of the files as they say, in their order. One that fails does not keep the others from being applied. */
export async function apply(io: Io, target: Target, options: ApplyOptions): Promise<void> {
  const [word] = options.words;
  if (word !== undefined) throw usage(`apply takes no argument, but got "${word}"; files follow -f`, 'apply');
  if (options.files.length === 0 && options.kustomize === undefined)
    throw usage('say what to apply with -f or -k', 'apply');
  const sources = await readSources(io, options, 'apply');
  if (sources.length === 0) throw new Failure('there is no object in what was given to apply');
  await using session = await openSession(io, target);
  const placed = await placeObjects(session, sources);
  const set = options.applySet === undefined ? undefined : await ApplySet.open(session, options.applySet);
  set?.assertOurs();
  await set?.remember(placed, true, options.dryRun);
  const { applied, failed } = await applyAll(session, set === undefined ? placed : placed.map(set.labelled), options);
  const left = set === undefined || failed > 0 ? failed : await pruneAll(session, set, placed, options);
  if (options.output === 'json' || options.output === 'yaml') printApplied(io, applied, options.output);
  if (left > 0) throw new Exit(1);
}

async function applyAll(
  session: Session,
  objects: readonly PlacedObject[],
  options: ApplyOptions,
): Promise<{ readonly applied: readonly KubeObject[]; readonly failed: number }> {
  const { io } = session;
  const applied: KubeObject[] = [];
  let failed = 0;
  for (const placed of objects) {
    try {
      const sent = await sendApply(session, placed, options);
      const name = objectName(placed.resource, placed.name);
      if (isForeign(sent))
        warn(io, `Warning: ${name} was not made by apply; from now on apply keeps record of what it says`);
      applied.push(sent.object);
      printOutcome(io, name, sent.outcome, options);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failed++;
      reportFailure(io, placed, error);
    }
  }
  return { applied, failed };
}

/** Deletes what is of the set and was not applied. Answers how many were refused. */
async function pruneAll(
  session: Session,
  set: ApplySet,
  objects: readonly PlacedObject[],
  options: ApplyOptions,
): Promise<number> {
  let failed = 0;
  for (const { member, error } of await prune(session, await set.strays(objects), options.dryRun)) {
    if (error === undefined) printOutcome(session.io, objectName(member.resource, member.name), 'pruned', options);
    else {
      failed++;
      reportFailure(session.io, member, error);
    }
  }
  if (failed === 0) await set.remember(objects, false, options.dryRun);
  return failed;
}

function printOutcome(io: Io, name: string, outcome: string, { output, dryRun }: ApplyOptions): void {
  if (output === 'name') printLine(io, name);
  else if (output === undefined || output === 'table' || output === 'wide')
    printLine(io, `${name} ${outcome}${dryRun ? ' (server dry run)' : ''}`);
}

function printApplied(io: Io, applied: readonly KubeObject[], output: 'json' | 'yaml'): void {
  const objects = applied.map(withoutManagedFields);
  const value =
    objects.length === 1
      ? objects[0]
      : { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: objects };
  io.stdout.write(output === 'json' ? renderJson(value) : renderYaml(value));
}
