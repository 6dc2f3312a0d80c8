import { hostname } from 'node:os';
import { OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import { Controllers } from '../../controllers/run.ts';
import { buildTinyLinux } from '../../nodelet/images/build-tiny-linux.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { type Io, printLine } from '../io.ts';
import { quoted } from '../render/shell-word.ts';
import { type Begun, beginServing } from '../serve/begin-serving.ts';
import { type Fleet, type FleetWish, LOCAL_GROUP, openFleet } from '../serve/drivers.ts';
import type { Home } from '../serve/home.ts';
import { forgetLoneLeader } from '../serve/lone-leader.ts';
import { machineName } from '../serve/machine-name.ts';
import { startNodelets } from '../serve/nodelets.ts';
import { ALONE } from '../serve/server-options.ts';
import { type StartedServer, startServer } from '../serve/start-server.ts';
import { stateOf } from '../serve/state-of.ts';
import type { Steps } from '../serve/steps.ts';
import { unlessInterrupted } from '../serve/unless-interrupted.ts';
import { untilAborted } from '../serve/until-aborted.ts';
import { whileStoreLives } from '../serve/while-store-lives.ts';
import { tellLeftBehind } from './left-behind.ts';
import { type RunUp, simulatedHosts, type UpOptions } from './options.ts';
import { applyQuickstart, awaitQuickstart, QUICKSTART_VM, type QuickstartDeps } from './quickstart.ts';

const clock = systemClock;
const ids = systemIds;
const random = Math.random;
/** One machine is shared generously: a flex VM is guaranteed this part of each vCPU. */
const LOCAL_SHARE = '1/32';

export const runUp: RunUp = async (options, io, signal) => {
  await unlessInterrupted(serve(options, io, signal), signal);
  printLine(io, '\nstopped; guests keep running');
};

/** What `up` has at hand once the server serves. */
interface Served extends Begun {
  readonly options: UpOptions;
  readonly io: Io;
  readonly started: StartedServer;
}

async function serve(options: UpOptions, io: Io, signal: AbortSignal): Promise<void> {
  await using held = new AsyncDisposableStack();
  const begun = await beginServing(options, io, clock, held);
  const { home, steps, log } = begun;
  const started = await steps.step(
    'API server',
    () => startServer({ ...ALONE, ...options, home, clock, ids, random, log, signal }, held),
    (made) => `API server on ${made.url}, state in ${stateOf(options.store, home)}`,
  );
  await whileStoreLives(started.store.lost, signal, async (ends) => {
    await using hosts = new AsyncDisposableStack();
    await runHosts({ ...begun, options, io, started }, hosts, ends);
  });
}

/** Everything behind the server, until the signal aborts. */
async function runHosts(served: Served, held: AsyncDisposableStack, signal: AbortSignal) {
  const { options, io, home, steps, log, sayUp, started } = served;
  const { server, store, pki, url } = started;
  const client = new ApiClient(server.transportFor(OPERATOR));
  const transportFor = (user: string) => server.transportFor(controller(user));
  const shared = options.store.kind !== 'sqlite';
  // Whoever alone can serve the store is the same in the next start.
  const where = shared ? `${hostname()}/${process.pid}` : hostname();
  if (shared) await forgetLoneLeader(server);
  held.use(new Controllers({ transportFor, clock, ids, random, log, where, shared }));
  const fleet = held.use(
    await steps.step(
      'hosts',
      () => openFleet(fleetWish(options), { home, clock, ids, random, log }, signal),
      hostsLine,
    ),
  );
  steps.say(`  ${fleet.note}`);
  if (fleet.kind === 'qemu') await shareLocally(client, steps, signal);
  const nodelets = held.use(await startNodelets(fleet.hosts, { home, server, store, pki, url, clock, random, log }));
  const names = fleet.hosts.map((host) => host.name);
  const leftBehind = await tellLeftBehind(client, names, steps, signal);
  const build = fleet.kind === 'qemu' ? { buildImage: buildTinyLinux } : {};
  const quickstart: QuickstartDeps = { io, steps, home, client, clock, leftBehind, ...build };
  const ready = options.quickstart && (await startQuickstart(quickstart, signal));
  sayUp();
  for (const line of nextCommands(home, ready)) steps.say(line);
  await Promise.race([untilAborted(signal), nodelets.failed]);
}

/** Simulated hosts are `mac-1` and so on, the real one is called as its machine. */
function fleetWish(options: UpOptions): FleetWish {
  const { driver, faults } = options;
  return { driver, simulated: simulatedHosts(options), real: machineName(), faults };
}

/** Whether there is a quickstart VM to try things on. */
async function startQuickstart(deps: QuickstartDeps, signal: AbortSignal): Promise<boolean> {
  await applyQuickstart(deps, signal);
  return awaitQuickstart(deps, signal);
}

function controller(user: string) {
  return { user, groups: ['system:controllers', 'system:authenticated'] };
}

function hostsLine(fleet: Fleet): string {
  const [first] = fleet.hosts;
  return fleet.hosts.length === 1
    ? `host ${first?.name}`
    : `${fleet.hosts.length} simulated hosts, mac-1 to mac-${fleet.hosts.length}`;
}

/** On one machine flex VMs share each vCPU generously; set once, then it is the operator's. */
async function shareLocally(client: ApiClient, steps: Steps, signal: AbortSignal): Promise<void> {
  const policies = client.resource<Policy>(Policy);
  const policy = await policies.get('default', signal);
  const groups = policy.spec.hostGroups ?? [];
  if (groups.some((group) => group.name === LOCAL_GROUP)) return;
  await policies.patch(
    'default',
    { spec: { hostGroups: [...groups, { name: LOCAL_GROUP, flexShare: LOCAL_SHARE }] } },
    {},
    signal,
  );
  steps.say(
    `  this machine is host group "${LOCAL_GROUP}": a flex VM is guaranteed ${LOCAL_SHARE} of each vCPU (Policy default)`,
  );
}

function nextCommands(home: Home, ready: boolean): readonly string[] {
  const { namespace, name } = QUICKSTART_VM;
  return [
    'next:',
    `  export KUBECONFIG=${quoted(home.kubeconfig)}`,
    '  kubectl get vms -A',
    ready ? `  bin/coppice exec -n ${namespace} ${name} -- uname -a` : '  bin/coppice status',
    '',
    'Ctrl-C stops the control plane and leaves guests running.',
  ];
}
