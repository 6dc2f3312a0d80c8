import type { KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { discover } from '../discovery/discovery.ts';
import { type NamedObject, selectionOf } from '../discovery/selection.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { listAll } from '../list-all.ts';
import { conditionOf } from '../render/conditions.ts';
import { objectName } from '../render/name.ts';
import { openSession, type Session } from '../session.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';
import { parseWish, type Wish } from '../wait/wish.ts';

export interface WaitOptions {
  readonly words: readonly string[];
  readonly condition: string;
  readonly labelSelector: string | undefined;
  readonly all: boolean;
  readonly timeout: string;
}

/** Waits until the wish holds for every object, all within one time. */
export async function waitFor(io: Io, target: Target, options: WaitOptions): Promise<void> {
  const wish = parseWish(options.condition);
  const timeoutMs = durationFlag('timeout', options.timeout);
  await using session = await openSession(io, target);
  const objects = await chosen(session, options);
  using deadline = new Deadline(io.signal, timeoutMs);
  // One after the other is enough: each is over when all that came before it are.
  let failed = 0;
  for (const object of objects) if (!(await waitForOne(session, object, wish, deadline, timeoutMs))) failed++;
  if (failed > 0) throw new Exit(1);
}

async function chosen(session: Session, options: WaitOptions): Promise<NamedObject[]> {
  const selection = selectionOf(await discover(session.client, session.io.signal), options.words);
  if (selection.kind === 'named') return [...selection.objects];
  const { labelSelector } = options;
  if (labelSelector === undefined && !options.all) throw usage('name objects, or say --all or -l', 'wait');
  const out: NamedObject[] = [];
  for (const resource of selection.resources) {
    const client = session.client.resource(resource, session.namespace);
    const { items } = await listAll(client, labelSelector === undefined ? {} : { labelSelector }, session.io.signal);
    out.push(...items.map((item) => ({ resource, name: item.metadata.name })));
  }
  if (out.length === 0) throw new Failure('no matching objects found');
  return out;
}

async function waitForOne(
  session: Session,
  { resource, name }: NamedObject,
  wish: Wish,
  deadline: Deadline,
  timeoutMs: number,
): Promise<boolean> {
  const { io, client } = session;
  const objects = client.resource(resource, resource.namespaced ? session.namespace : undefined);
  // Waiting for a state of something that is not there would never end well; only `create` and `delete` may begin so.
  const first = wish.kind === 'create' || wish.kind === 'delete' ? undefined : await objects.get(name, io.signal);
  let last: KubeObject | undefined = first;
  const look = (object: KubeObject | undefined) => {
    if (object === undefined && wish.kind !== 'create' && wish.kind !== 'delete')
      throw new Failure(`${objectName(resource, name)} was deleted while it was waited for`);
    return wish.holds(object);
  };
  let seen = false;
  const once = timeoutMs === 0;
  try {
    if (once) {
      const { items } = await objects.list({ fieldSelector: `metadata.name=${name}` }, io.signal);
      last = items[0];
      seen = last !== undefined;
      if (!look(last)) return timedOut(io, objectName(resource, name), last);
    } else {
      await watchUntil(objects, name, look, deadline.signal, (object) => {
        last = object;
        seen ||= object !== undefined;
      });
    }
  } catch (error) {
    if (!deadline.passed) throw error;
    return timedOut(io, objectName(resource, name), last);
  }
  // Of what never was nothing is said, as kubectl does.
  if (wish.kind !== 'delete' || seen) printLine(io, `${objectName(resource, name)} ${wish.done}`);
  return true;
}

/** Says what it is instead, since that is the next question. */
function timedOut(io: Io, shown: string, last: KubeObject | undefined): false {
  warn(io, `error: timed out waiting for the condition on ${shown}`);
  const ready = conditionOf(last, 'Ready');
  if (ready !== undefined) warn(io, `hint: Ready is ${ready.status}, ${ready.reason}: ${ready.message}`);
  return false;
}
