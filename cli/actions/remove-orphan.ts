import type { ResourceClient } from '../../apiserver/client/client.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { Failure, usage } from '../failure.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine } from '../io.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

export interface RemoveOrphanOptions {
  readonly words: readonly string[];
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Has guests removed that no VM names and, unless told not to, waits until they are gone. */
export async function removeOrphans(io: Io, target: Target, options: RemoveOrphanOptions): Promise<void> {
  const [host, ...ids] = options.words;
  if (ids.length === 0) throw usage('name a host and guests of it, by their ids', 'host remove-orphan');
  const name = hostName(host === undefined ? [] : [host], 'host remove-orphan');
  const timeoutMs = durationFlag('timeout', options.timeout);
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const { spec, status } = await hosts.get(name, io.signal);
  const orphans = status?.orphans ?? [];
  const doomed = ids.map((id) => orphans.find((orphan) => orphan.id === id) ?? missing(id, name, orphans));
  if (!options.yes) {
    const what = `${doomed.map(({ id, label }) => `${id} (${label})`).join(', ')} on ${name}, with their disks`;
    await confirm(io, { tells: `this removes ${what}`, asks: `Remove ${what}?`, undone: 'nothing was removed' });
  }
  // Those that are gone mean nothing any more.
  const named = (spec.removeOrphans ?? []).filter((id) => orphans.some((orphan) => orphan.id === id));
  const removable = [...new Set([...named, ...ids])];
  await hosts.patch(name, { spec: { removeOrphans: removable } }, { fieldManager: 'coppice' }, io.signal);
  if (options.wait) await untilGone(io, hosts, name, ids, timeoutMs);
  for (const id of ids) printLine(io, `guest ${id} ${options.wait ? 'removed' : 'may go'}`);
}

function missing(id: string, host: string, orphans: readonly { readonly id: string }[]): never {
  const there = orphans.map((orphan) => orphan.id).join(', ');
  throw new Failure(`host ${host} has no orphan ${id}`, {
    hint: there === '' ? 'it has none; a guest that a VM names goes with its VM' : `its orphans are ${there}`,
  });
}

async function untilGone(
  io: Io,
  hosts: ResourceClient<Host>,
  name: string,
  ids: readonly string[],
  timeoutMs: number,
): Promise<void> {
  using deadline = new Deadline(io.signal, timeoutMs === 0 ? undefined : timeoutMs);
  const left = (host: Host | undefined) => (host?.status?.orphans ?? []).filter(({ id }) => ids.includes(id));
  try {
    await watchUntil(hosts, name, (host) => left(host).length === 0, deadline.signal);
  } catch (error) {
    if (!deadline.passed) throw error;
    throw new Failure(`timed out waiting for the guests to go from ${name}`, {
      hint: `coppice describe host ${name} says whether its nodelet is heard and trusts its store`,
    });
  }
}
