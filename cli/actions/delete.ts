import { ApiError } from '../../resources/meta/api-error.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { placeObjects } from '../apply/placed.ts';
import { readSources } from '../apply/sources.ts';
import { confirm, type Deed } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { type ChosenObject, chosenObjects } from '../discovery/chosen-objects.ts';
import { Exit, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { objectName, typeName } from '../render/name.ts';
import { openSession, type Session } from '../session.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

export interface DeleteOptions {
  readonly words: readonly string[];
  readonly files: readonly string[];
  readonly kustomize: string | undefined;
  readonly recursive: boolean;
  readonly labelSelector: string | undefined;
  readonly all: boolean;
  readonly wait: boolean;
  readonly timeout: string;
  readonly ignoreNotFound: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Deletes objects and, unless told not to, waits until they are gone. */
export async function deleteObjects(io: Io, target: Target, options: DeleteOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const fromFiles = options.files.length > 0 || options.kustomize !== undefined;
  if (fromFiles && options.words.length > 0) throw usage('give either files or names, not both', 'delete');
  const sources = fromFiles ? await readSources(io, options, 'delete') : [];
  await using session = await openSession(io, target);
  const doomed = fromFiles ? await placeObjects(session, sources) : await chosenObjects(session, options, 'delete');
  if (doomed.length === 0) return printLine(io, 'No resources found');
  if (!options.yes && !options.dryRun) await confirm(io, deedOf(doomed));
  using deadline = new Deadline(io.signal, timeoutMs === 0 ? undefined : timeoutMs);
  const leaving: { doomed: ChosenObject; uid: string }[] = [];
  let failed = 0;
  for (const one of doomed) {
    const uid = await deleteOne(session, one, options).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      if (error.reason === 'NotFound' && options.ignoreNotFound) return undefined;
      warn(io, `error: ${error.message}`);
      failed++;
      return undefined;
    });
    if (uid !== undefined) leaving.push({ doomed: one, uid });
  }
  if (options.wait && !options.dryRun) failed += await waitGone(session, leaving, deadline);
  if (failed > 0) throw new Exit(1);
}

function deedOf(doomed: readonly ChosenObject[]): Deed {
  const shown = doomed.map((one) => {
    const where = one.namespace === undefined ? '' : ` in ${one.namespace}`;
    return `${objectName(one.resource, one.name)}${where}`;
  });
  const some = shown.length > 10 ? [...shown.slice(0, 10), `… and ${shown.length - 10} more`] : shown;
  const names = some.join(', ');
  return { tells: `this deletes ${names}`, asks: `Delete ${names}?`, undone: 'nothing was deleted' };
}

/** Asks for the deletion and answers the uid of what is on its way out. */
async function deleteOne(session: Session, one: ChosenObject, options: DeleteOptions): Promise<string | undefined> {
  const { io } = session;
  const onWarning = (text: string) => warn(io, `Warning: ${text}`);
  const answer = await session.client
    .resource(one.resource, one.namespace)
    .delete(one.name, { propagationPolicy: 'Background', dryRun: options.dryRun, onWarning }, io.signal);
  const dry = options.dryRun ? ' (server dry run)' : '';
  printLine(io, `${typeName(one.resource)} "${one.name}" deleted${dry}`);
  const uid = valueAt(answer, ['details', 'uid']) ?? valueAt(answer, ['metadata', 'uid']);
  return typeof uid === 'string' ? uid : undefined;
}

/** Waits for each; another object of the same name means the old one is gone. Answers how many did not go in time. */
async function waitGone(
  session: Session,
  leaving: readonly { doomed: ChosenObject; uid: string }[],
  deadline: Deadline,
): Promise<number> {
  let failed = 0;
  for (const { doomed, uid } of leaving) {
    const objects = session.client.resource<KubeObject>(doomed.resource, doomed.namespace);
    let last: KubeObject | undefined;
    try {
      const gone = (object: KubeObject | undefined) => object === undefined || object.metadata.uid !== uid;
      await watchUntil(objects, doomed.name, gone, deadline.signal, (object) => {
        last = object;
      });
    } catch (error) {
      if (!deadline.passed) throw error;
      failed++;
      warn(session.io, `error: timed out waiting for ${objectName(doomed.resource, doomed.name)} to go`);
      const finalizers = last?.metadata.finalizers ?? [];
      if (finalizers.length > 0) warn(session.io, `hint: it is kept by ${finalizers.join(', ')}`);
    }
  }
  return failed;
}
