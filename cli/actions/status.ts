import { ApiError } from '../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
import { listAll } from '../list-all.ts';
import { conditionOf } from '../render/conditions.ts';
import { renderJson } from '../render/json.ts';
import { outputOf } from '../render/output.ts';
import { alignColumns } from '../render/table.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession, type Session } from '../session.ts';
import { HOSTS, VMS } from '../vm-ref.ts';

/** The fleet in a few numbers, and what a person may have to look at. */
export interface FleetStatus {
  readonly server: string;
  readonly version: string;
  readonly client: string;
  /** Undefined: who asks may not see hosts. */
  readonly hosts: { readonly total: number; readonly ready: number; readonly cordoned: number } | undefined;
  readonly vms: Readonly<Record<string, number>>;
  readonly attention: readonly { readonly object: string; readonly reason: string; readonly message: string }[];
}

/** Lines about objects that need a look; the rest is counted. */
const MAX_ATTENTION = 15;

export async function status(io: Io, target: Target, client: string, flag: string | undefined): Promise<void> {
  await using session = await openSession(io, target);
  const [answer, hosts, vms] = await Promise.all([
    session.client.json({ method: 'GET', path: '/version', signal: io.signal }),
    visible(session, HOSTS),
    visible(session, VMS),
  ]);
  const fleet = {
    server: session.connection.server,
    version: String(valueAt(answer, ['gitVersion']) ?? 'unknown'),
    client,
    ...summarize(hosts, vms ?? []),
  };
  const output = outputOf(io, flag);
  if (output === 'json') io.stdout.write(renderJson(fleet));
  else if (output === 'yaml') io.stdout.write(renderYaml(fleet));
  else printFleet(io, fleet);
}

/** All objects of a kind one may see; undefined when one may not see any. */
async function visible(session: Session, ref: ResourceRef): Promise<KubeObject[] | undefined> {
  try {
    return (await listAll(session.client.resource(ref), {}, session.io.signal)).items;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'Forbidden') return undefined;
    throw error;
  }
}

/** Counts, and everything that is not as it should be. */
export function summarize(
  hosts: readonly KubeObject[] | undefined,
  vms: readonly KubeObject[],
): Pick<FleetStatus, 'hosts' | 'vms' | 'attention'> {
  const phases: Record<string, number> = {};
  for (const vm of vms) {
    const phase = String(valueAt(vm, ['status', 'phase']) ?? 'Pending');
    phases[phase] = (phases[phase] ?? 0) + 1;
  }
  const ready = (object: KubeObject) => conditionOf(object, 'Ready')?.status === 'True';
  // One that is to be off and is not needs a look like one that is to run and does not.
  const atRest = ['Stopped', 'Paused', 'Pending'];
  const asleep = (vm: KubeObject) =>
    (valueAt(vm, ['spec', 'power']) ?? 'Running') !== 'Running' &&
    atRest.includes(String(valueAt(vm, ['status', 'phase']) ?? 'Pending'));
  const putBack = (hosts ?? []).filter((host) => conditionOf(host, 'StoreRolledBack')?.status === 'True');
  return {
    hosts: hosts && {
      total: hosts.length,
      ready: hosts.filter(ready).length,
      cordoned: hosts.filter((host) => valueAt(host, ['spec', 'cordoned']) === true).length,
    },
    vms: phases,
    attention: [
      ...(hosts ?? []).filter((host) => !ready(host)).map((host) => troubleOf(`host/${host.metadata.name}`, host)),
      ...putBack.map((host) => troubleOf(`host/${host.metadata.name}`, host, 'StoreRolledBack')),
      ...vms
        .filter((vm) => !ready(vm) && !asleep(vm))
        .map((vm) => troubleOf(`vm/${vm.metadata.name} in ${vm.metadata.namespace}`, vm)),
    ],
  };
}

function troubleOf(object: string, from: KubeObject, about = 'Ready'): FleetStatus['attention'][number] {
  // Why it has no place says more than that it is not ready.
  const scheduled = conditionOf(from, 'Scheduled');
  const told = scheduled?.status === 'False' ? scheduled : conditionOf(from, about);
  return { object, reason: told?.reason ?? 'Unknown', message: told?.message ?? 'nothing is known of it yet' };
}

function printFleet(io: Io, fleet: FleetStatus): void {
  const { hosts, vms, attention } = fleet;
  const phases = Object.entries(vms).sort(([a], [b]) => (a < b ? -1 : 1));
  const total = phases.reduce((sum, [, count]) => sum + count, 0);
  const cordoned = hosts !== undefined && hosts.cordoned > 0 ? `, ${hosts.cordoned} cordoned` : '';
  io.stdout.write(
    alignColumns([
      ['Server', `${fleet.server}, ${fleet.version}`],
      ['Client', fleet.client],
      ['Hosts', hosts === undefined ? 'not yours to see' : `${hosts.total}: ${hosts.ready} ready${cordoned}`],
      ['VMs', total === 0 ? 'none' : `${total}: ${phases.map(([phase, count]) => `${count} ${phase}`).join(', ')}`],
    ]),
  );
  if (attention.length === 0) return;
  printLine(io, '');
  const rows = attention.slice(0, MAX_ATTENTION).map(({ object, reason, message }) => [object, reason, message]);
  io.stdout.write(alignColumns(rows));
  if (attention.length > MAX_ATTENTION) printLine(io, `… and ${attention.length - MAX_ATTENTION} more`);
}
