import { hostname } from 'node:os';
import { OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import { type Listener, listen } from '../../apiserver/listen.ts';
import { tokenIn, writeAdminKubeconfig } from '../../apiserver/pki/admin-kubeconfig.ts';
import { openPki, type Pki } from '../../apiserver/pki/pki-files.ts';
import { type ApiServer, startApiServer } from '../../apiserver/server.ts';
import { SqliteStore } from '../../apiserver/store/sqlite/store.ts';
import { StoreError } from '../../apiserver/store/store.ts';
import { Controllers } from '../../controllers/run.ts';
import { type Logger, lineLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Failure } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { type Fleet, hostProcesses, LOCAL_GROUP, openFleet } from './drivers.ts';
import { type Home, openHome, startFailure } from './home.ts';
import { takeLock } from './lock.ts';
import { LogFile } from './log-file.ts';
import { startNodelets } from './nodelets.ts';
import type { RunUp, UpOptions } from './options.ts';
import { applyQuickstart, awaitQuickstart, QUICKSTART_VM, type QuickstartDeps } from './quickstart.ts';
import { Steps } from './steps.ts';

const clock = systemClock;
const ids = systemIds;
const LOOPBACK = '127.0.0.1';
/** One machine is shared generously: a flex VM is guaranteed this part of each vCPU. */
const LOCAL_SHARE = '1/32';
const RENEWAL_CHECK_MS = 12 * 3600 * 1000;
/** The store was lost: what was not acknowledged may or may not have happened. */
const EXIT_STORE_LOST = 70;

/** The whole of Coppice in one process: store, API server, controllers and the hosts of this machine. Serves until the signal aborts. */
export const runUp: RunUp = async (options, io, signal) => {
  try {
    await serve(options, io, signal);
  } catch (error) {
    // Ctrl-C while something was still starting: what was started has been stopped on the way out.
    if (!signal.aborted) throw error;
  }
  printLine(io, '\nstopped; guests keep running');
};

async function serve(options: UpOptions, io: Io, signal: AbortSignal): Promise<void> {
  const started = clock.monotonic();
  const steps = new Steps(io, clock);
  await using held = new AsyncDisposableStack();
  const home = openHome(options.home);
  held.use(
    await takeLock(home.lock, hostProcesses(clock), process.pid).catch((error) =>
      Promise.reject(startFailure(error, home.path)),
    ),
  );
  const log = openLog(home, io, held);
  const { server, store, pki, url } = await steps.step(
    'API server',
    () => startServer(options, home, log, held),
    (made) => `API server on ${made.url}, state in ${home.path}`,
  );
  const client = new ApiClient(server.transportFor(OPERATOR));
  held.use(
    new Controllers({
      transportFor: (user) => server.transportFor(controller(user)),
      clock,
      ids,
      random: Math.random,
      log,
    }),
  );
  const fleet = held.use(
    await steps.step(
      'hosts',
      () => openFleet(options, { home, clock, ids, log }, signal),
      (made) => hostsLine(made),
    ),
  );
  steps.say(`  ${fleet.note}`);
  if (fleet.kind === 'qemu') await shareLocally(client, steps, signal);
  const nodelets = held.use(
    await startNodelets(fleet, { home, server, store, pki, url, clock, random: Math.random, log }),
  );
  const quickstart: QuickstartDeps = { io, steps, home, client, clock, buildImage: fleet.kind === 'qemu' };
  if (options.quickstart) await applyQuickstart(quickstart, signal);
  const ready = await awaitQuickstart(quickstart, signal);
  steps.say(`up in ${((clock.monotonic() - started) / 1000).toFixed(1)} s\n`);
  for (const line of nextCommands(home, ready)) steps.say(line);
  await serveUntil(signal, store.lost, nodelets.failed);
}

function controller(user: string) {
  return { user, groups: ['system:controllers', 'system:authenticated'] };
}

function openLog(home: Home, io: Io, held: AsyncDisposableStack): Logger {
  try {
    const file = held.use(new LogFile(home.log));
    return lineLogger(
      (line) => {
        file.write(line);
        if (/^\S+ error /.test(line)) warn(io, line);
      },
      () => clock.now(),
    );
  } catch (error) {
    throw startFailure(error, home.log);
  }
}

interface Started {
  readonly server: ApiServer;
  readonly store: SqliteStore;
  readonly pki: Pki;
  readonly listener: Listener;
  readonly url: string;
}

async function startServer(options: UpOptions, home: Home, log: Logger, held: AsyncDisposableStack): Promise<Started> {
  const names = ['localhost', LOOPBACK, '::1', hostname()];
  try {
    const store = held.use(await SqliteStore.open({ path: home.store, ids }));
    const pki = await openPki(home.pki, names, clock, ids);
    const { token, hash } = pki.operator(tokenIn(home.kubeconfig));
    const platform = {
      platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      runtime: process.version,
    };
    const name = `up-${hostname()}`;
    const server = held.use(
      await startApiServer({ store, operatorTokenHash: hash, name, clock, ids, random: Math.random, log, platform }),
    );
    const tls = async () => ({ ...(await pki.serverLeaf()), ca: pki.caCert });
    const { app, upgrade } = server;
    const listener = held.use(await listen({ host: LOOPBACK, port: options.port, tls: await tls(), app, upgrade }));
    keepRenewing(async () => listener.renew(await tls()), log, held);
    const url = `https://${LOOPBACK}:${listener.port}`;
    writeAdminKubeconfig(home.kubeconfig, { server: url, caCert: pki.caCert, token });
    return { server, store, pki, listener, url };
  } catch (error) {
    throw serverFailure(error, options, home);
  }
}

/** Looks twice a day whether the leaf should be replaced, and serves the new one without a restart. */
function keepRenewing(renew: () => Promise<void>, log: Logger, held: AsyncDisposableStack): void {
  let stop = () => {};
  const again = () => {
    stop = clock.after(RENEWAL_CHECK_MS, () => {
      renew().catch((error: unknown) => log.error('certificate not renewed', { error: String(error) }));
      again();
    });
  };
  again();
  held.defer(() => stop());
}

function serverFailure(error: unknown, options: UpOptions, home: Home): unknown {
  if (error instanceof StoreError) return new Failure(error.message, { cause: error });
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    const hint = 'stop what listens there, or choose another with --port (0 takes any free one)';
    return new Failure(`port ${options.port} on ${LOOPBACK} is taken`, { hint, cause: error });
  }
  if (code === 'EACCES' && options.port > 0 && options.port < 1024) {
    return new Failure(`no permission to listen on port ${options.port}`, {
      hint: 'choose one above 1023 with --port',
      cause: error,
    });
  }
  return startFailure(error, home.path);
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
    `  export KUBECONFIG=${home.kubeconfig}`,
    '  kubectl get vms -A',
    ready ? `  bin/coppice exec -n ${namespace} ${name} -- uname -a` : '  bin/coppice status',
    '',
    'Ctrl-C stops the control plane and leaves guests running.',
  ];
}

async function serveUntil(signal: AbortSignal, lost: Promise<StoreError>, failed: Promise<never>): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const storeLost = lost.then((error) => {
    throw new Failure(`the store is lost: ${error.message}`, { exitCode: EXIT_STORE_LOST, cause: error });
  });
  await Promise.race([stopped, storeLost, failed]);
}
