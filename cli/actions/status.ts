import { bodyText } from '../../apiserver/client/client.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { ELECTION_NAMESPACE } from '../../resources/streams/election-leases.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
import { LEASE_SETS, LEASES } from '../lease-ref.ts';
import { listAll } from '../list-all.ts';
import { renderJson } from '../render/json.ts';
import { outputOf } from '../render/output.ts';
import { alignColumns } from '../render/table.ts';
import { renderYaml } from '../render/yaml.ts';
import { openSession, type Session } from '../session.ts';
import { HOSTS, POLICIES, POOLS, TENANTS, VMS } from '../vm-ref.ts';
import { VOLUMES } from '../volume-ref.ts';
import { attentionOf, isReady, type Seen, type Trouble } from './attention.ts';
import { shortagesIn } from './shortages.ts';
import { unledIn } from './unled.ts';

/** The fleet in a few numbers, and what a person may have to look at. */
export interface FleetStatus {
  readonly server: string;
  readonly version: string;
  readonly client: string;
  /** Undefined: who asks may not see hosts. */
  readonly hosts: { readonly total: number; readonly ready: number; readonly cordoned: number } | undefined;
  readonly vms: Readonly<Record<string, number>>;
  readonly attention: readonly Trouble[];
}

/** Lines about objects that need a look; the rest is counted. */
const MAX_ATTENTION = 15;

export async function status(io: Io, target: Target, client: string, flag: string | undefined): Promise<void> {
  await using session = await openSession(io, target);
  const [answer, ready, hosts, vms, tenants, policies, elections, leases, leaseSets, pools, volumes] =
    await Promise.all([
      session.client.json({ method: 'GET', path: '/version', signal: io.signal }),
      session.client.send({ method: 'GET', path: '/readyz?verbose', signal: io.signal }),
      visible(session, HOSTS),
      visible(session, VMS),
      visible(session, TENANTS),
      visible(session, POLICIES),
      visible(session, CoordinationLease, ELECTION_NAMESPACE),
      visible(session, LEASES),
      visible(session, LEASE_SETS),
      visible(session, POOLS),
      visible(session, VOLUMES),
    ]);
  const health = await bodyText(ready);
  const nowMs = Date.now();
  // Of the two clocks the server's is nearer to that of controllers.
  const unled = elections === undefined ? [] : unledIn(elections, Date.parse(String(ready.headers.date)) || nowMs);
  const fleet = {
    server: session.connection.server,
    version: String(valueAt(answer, ['gitVersion']) ?? 'unknown'),
    client,
    ...summarize(
      {
        hosts,
        vms: vms ?? [],
        tenants,
        leases,
        leaseSets,
        pools,
        volumes,
        policies,
        shortages: shortagesIn(health),
        unled,
      },
      nowMs,
    ),
  };
  const output = outputOf(io, flag);
  if (output === 'json') io.stdout.write(renderJson(fleet));
  else if (output === 'yaml') io.stdout.write(renderYaml(fleet));
  else printFleet(io, fleet);
}

/** All objects of a kind one may see; undefined when one may not see any. */
async function visible(session: Session, ref: ResourceRef, namespace?: string): Promise<KubeObject[] | undefined> {
  try {
    return (await listAll(session.client.resource(ref, namespace), {}, session.io.signal)).items;
  } catch (error) {
    // A namespace of others is not there for who owns another.
    if (error instanceof ApiError && (error.reason === 'Forbidden' || error.reason === 'NotFound')) return undefined;
    throw error;
  }
}

/** Counts, and everything that is not as it should be. */
export function summarize(seen: Seen, nowMs: number): Pick<FleetStatus, 'hosts' | 'vms' | 'attention'> {
  const { hosts, vms } = seen;
  const phases: Record<string, number> = {};
  for (const vm of vms) {
    const phase = String(valueAt(vm, ['status', 'phase']) ?? 'Pending');
    phases[phase] = (phases[phase] ?? 0) + 1;
  }
  return {
    hosts: hosts && {
      total: hosts.length,
      ready: hosts.filter(isReady).length,
      cordoned: hosts.filter((host) => valueAt(host, ['spec', 'cordoned']) === true).length,
    },
    vms: phases,
    attention: attentionOf(seen, nowMs),
  };
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
  const rows = attention
    .slice(0, MAX_ATTENTION)
    .map(({ object, reason, message, since }) => [
      object,
      reason,
      since === undefined ? message : `${message} (since ${since})`,
    ]);
  io.stdout.write(alignColumns(rows));
  if (attention.length > MAX_ATTENTION) printLine(io, `… and ${attention.length - MAX_ATTENTION} more`);
}
