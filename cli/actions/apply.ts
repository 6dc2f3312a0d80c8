import { ApiError } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { placeObjects } from '../apply/placed.ts';
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
import { openSession } from '../session.ts';

export interface ApplyOptions extends ApplyManner {
  readonly words: readonly string[];
  readonly files: readonly string[];
  readonly kustomize: string | undefined;
  readonly recursive: boolean;
  readonly output: string | undefined;
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
  const applied: KubeObject[] = [];
  let failed = 0;
  for (const placed of await placeObjects(session, sources)) {
    try {
      const sent = await sendApply(session, placed, options);
      const name = objectName(placed.resource, placed.name);
      if (isForeign(sent))
        warn(io, `Warning: ${name} was not made by apply; from now on apply keeps record of what it says`);
      applied.push(sent.object);
      if (options.output === undefined || options.output === 'table' || options.output === 'wide')
        printLine(io, `${name} ${sent.outcome}${options.dryRun ? ' (server dry run)' : ''}`);
      else if (options.output === 'name') printLine(io, name);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failed++;
      reportFailure(io, placed, error);
    }
  }
  if (options.output === 'json' || options.output === 'yaml') printApplied(io, applied, options.output);
  if (failed > 0) throw new Exit(1);
}

function printApplied(io: Io, applied: readonly KubeObject[], output: 'json' | 'yaml'): void {
  const objects = applied.map(withoutManagedFields);
  const value =
    objects.length === 1
      ? objects[0]
      : { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: objects };
  io.stdout.write(output === 'json' ? renderJson(value) : renderYaml(value));
}
