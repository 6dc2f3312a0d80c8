import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import { firstOf } from '../../resources/meta/first-of.ts';
import { type KubeObject, objectKey } from '../../resources/meta/object.ts';
import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { Failure } from '../failure.ts';
import { hostName } from '../host-ref.ts';
import { type Io, printLine } from '../io.ts';
import { listAll } from '../list-all.ts';
import { openSession, type Session } from '../session.ts';
import { HOSTS, VMS } from '../vm-ref.ts';
import { VOLUMES } from '../volume-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

export interface ForgetOptions {
  readonly words: readonly string[];
  readonly force: boolean;
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Gives a host up with what is on it and, unless told not to, waits until its VMs say so. */
export async function forgetHost(io: Io, target: Target, options: ForgetOptions): Promise<void> {
  const name = hostName(options.words, 'host forget');
  const timeoutMs = durationFlag('timeout', options.timeout);
  await using session = await openSession(io, target);
  const hosts = session.client.resource<Host>(HOSTS);
  const host = await hosts.get(name, io.signal);
  if (isTrue(host, 'Ready') && !options.force) {
    throw new Failure(`host ${name} is heard: ${findCondition(host, 'Ready')?.message}`, {
      hint: 'stop its nodelet and wait until it is not Ready (about 40 s), or add --force',
    });
  }
  const vms = await vmsOn(session, name);
  if (!options.yes) await ask(io, host, vms, await volumesOn(session, name));
  // Asked for only now: what is refused or said no to must leave nothing behind.
  const kept = host.status?.lease !== undefined || isTrue(host, 'ScrubPending');
  if ((options.force || kept) && host.spec.forget !== true)
    await hosts.patch(name, { spec: { forget: true } }, { fieldManager: 'coppice' }, io.signal);
  await hosts.delete(name, { preconditions: { uid: host.metadata.uid } }, io.signal);
  printLine(io, `host.coppice.dev/${name} forgotten`);
  if (options.wait) await untilTold(session, vms, timeoutMs);
}

async function vmsOn({ client, io }: Session, host: string): Promise<readonly VM[]> {
  const { items } = await listAll(client.resource<VM>(VMS), { fieldSelector: `spec.hostName=${host}` }, io.signal);
  return items.filter((vm) => !isLost(vm));
}

async function volumesOn({ client, io }: Session, host: string): Promise<readonly Volume[]> {
  const { items } = await listAll(
    client.resource<Volume>(VOLUMES),
    { fieldSelector: `spec.hostName=${host}` },
    io.signal,
  );
  return items.filter(({ status }) => status?.phase !== 'Lost');
}

const isLost = (vm: VM) => findCondition(vm, 'Ready')?.reason === 'HostLost';

async function ask(io: Io, { metadata, status }: Host, vms: readonly VM[], volumes: readonly Volume[]): Promise<void> {
  const { name } = metadata;
  const named = (what: string, objects: readonly KubeObject[]) =>
    objects.length === 0
      ? []
      : [
          `its ${what} ${firstOf(
            objects.map(({ metadata: of }) => objectKey(of)),
            10,
          )}`,
        ];
  const all = [...named('VMs', vms), ...named('volumes', volumes)].join(' and ');
  const loses = all === '' ? '' : `, and loses ${all}`;
  const lease = status?.lease === undefined ? '' : `, and ${endOf(status.lease)}`;
  await confirm(io, {
    tells: `this gives host ${name} up${loses}${lease}`,
    asks: `Give host ${name} up${loses}${lease}?`,
    undone: 'nothing was given up',
  });
}

function endOf({ namespace, released, earliestEnd }: NonNullable<NonNullable<Host['status']>['lease']>): string {
  return released === true
    ? `is held for ${namespace} no more, which is billed until ${earliestEnd} all the same`
    : `the lease of ${namespace} ends with its minimum`;
}

/** The controllers tell of each VM that it is lost; one that is gone is as good. */
async function untilTold({ client, io }: Session, vms: readonly VM[], timeoutMs: number): Promise<void> {
  using deadline = new Deadline(io.signal, timeoutMs === 0 ? undefined : timeoutMs);
  for (const { metadata } of vms) {
    const told = (vm: VM | undefined) => vm === undefined || vm.metadata.uid !== metadata.uid || isLost(vm);
    try {
      await watchUntil(client.resource<VM>(VMS, metadata.namespace), metadata.name, told, deadline.signal);
    } catch (error) {
      if (!deadline.passed) throw error;
      throw new Failure(`timed out waiting for vm ${metadata.name} in ${metadata.namespace} to be given up`, {
        hint: 'the host is gone, and the controllers will tell of the VM; coppice status says whether they run',
      });
    }
    printLine(io, `vm.coppice.dev/${metadata.name} in ${metadata.namespace} is lost with it`);
  }
}
