import { type Backend, backends } from './backend.ts';
import { FilledFleet } from './filled-fleet.ts';
import { FleetProcesses, seconds } from './fleet-processes.ts';
import { type BenchWorld, type Goal, NotMeasured } from './goal.ts';
import { atMost, type Contest } from './harness.ts';

/** How large the fleets are that are measured, and for how long. */
export interface FleetSize {
  readonly hosts: number;
  readonly vms: number;
  /** VMs made at a steady rate. */
  readonly perSecond: number;
  readonly steadySeconds: number;
  readonly idleHosts: number;
  readonly idleSeconds: number;
}

export type StoreKind = Backend['kind'];

const SIZE: FleetSize = {
  hosts: 1_000,
  vms: 10_000,
  perSecond: 100,
  steadySeconds: 20,
  idleHosts: 100,
  idleSeconds: 120,
};

export const fleetGoals: readonly Goal[] = [
  fleetGoal(SIZE, 'file'),
  idleGoal(SIZE, 'file'),
  fleetGoal(SIZE, 'etcd'),
  idleGoal(SIZE, 'etcd'),
];

/** Goals 29 to 32, one after the other on the same fleet: it is filled, more VMs are made at a steady rate, and its controllers are killed. */
export function fleetGoal(size: FleetSize, kind: StoreKind): Goal {
  return {
    names: ['29', '30', '31', '32', 'fleet', `fleet-${kind}`],
    async open(world, held) {
      const backend = await backendOf(kind, world);
      const processes = await FleetProcesses.start(world, `fleet-${kind}`, backend, size.hosts, held);
      const filled = await FilledFleet.open(world, processes, size.hosts, held);
      return contestsOn(filled, size, backend);
    },
  };
}

/** Goal 33: what the processes of a small fleet take while nobody asks for anything. */
export function idleGoal(size: FleetSize, kind: StoreKind): Goal {
  return {
    names: ['33', 'fleet', `fleet-${kind}`],
    async open(world, held) {
      const backend = await backendOf(kind, world);
      const processes = await FleetProcesses.start(world, `idle-${kind}`, backend, size.idleHosts, held);
      return [
        {
          goal: '33',
          title: `CPU of all processes, ${size.idleHosts} idle hosts${backend.suffix}`,
          unit: '% of a core',
          rounds: 1,
          ours: () => idleCost(size, processes, world),
          ...marks(backend, 5, 1, '% of a core'),
        },
      ];
    },
  };
}

async function backendOf(kind: StoreKind, world: BenchWorld): Promise<Backend> {
  const found = (await backends(world, `fleet-${world.ids.suffix(5)}`)).find((backend) => backend.kind === kind);
  if (found === undefined) throw new NotMeasured(`there is no ${kind} here`);
  return found;
}

/** On etcd figures are taken, and nothing is asked of them. */
function marks({ kind }: Backend, must: number, great: number, unit: string): Pick<Contest, 'must' | 'great'> {
  return kind === 'file' ? { must: atMost(must, unit), great: atMost(great, unit) } : {};
}

/** Each relies on those before it. */
function contestsOn(filled: FilledFleet, size: FleetSize, backend: Backend): readonly Contest[] {
  const { hosts, vms, perSecond } = size;
  const where = `${hosts} hosts, ${vms} VMs${backend.suffix}`;
  return [
    {
      goal: '29',
      title: `create to all Ready, ${where}`,
      unit: 's',
      rounds: 1,
      ours: () => filled.fill(vms),
      ...marks(backend, 240, 90, 's'),
    },
    {
      goal: '30',
      title: `create to bound, p99 at ${perSecond}/s, ${where}`,
      unit: 'ms',
      rounds: 3,
      ours: () => filled.boundP99(size),
      ...marks(backend, 1000, 150, 'ms'),
    },
    {
      goal: '31',
      title: `memory of all processes, ${where}`,
      unit: 'MiB',
      rounds: 1,
      ours: async () => filled.memoryMiB(),
      ...marks(backend, 2048, 1024, 'MiB'),
    },
    {
      goal: '32',
      title: `controllers killed, until caught up, ${where}`,
      unit: 's',
      rounds: 3,
      ours: () => filled.restartControllers(),
      ...marks(backend, 10, 3, 's'),
    },
  ];
}

/** How long after a start a control plane counts as idle. */
const SETTLE_MS = 20_000;

/** Percent of a core. Of a fleet whose hosts came just now, once it has come to rest. */
async function idleCost({ idleSeconds }: FleetSize, { processes }: FleetProcesses, world: BenchWorld): Promise<number> {
  const { clock, signal, progress } = world;
  await clock.sleep(Math.min(SETTLE_MS, idleSeconds * 1000), signal);
  const before = processes.map((process) => process.cpuMs());
  const began = clock.monotonic();
  await clock.sleep(idleSeconds * 1000, signal);
  const tookMs = clock.monotonic() - began;
  const cost = processes.map((process, i) => ((process.cpuMs() - (before[i] ?? 0)) * 100) / tookMs);
  const parts = processes.map(({ name }, i) => `${name} ${cost[i]?.toFixed(2)} %`);
  progress?.(`over ${seconds(tookMs)}: ${parts.join(', ')}`);
  return cost.reduce((a, b) => a + b, 0);
}
