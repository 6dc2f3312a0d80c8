import { hostname } from 'node:os';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { openFailover } from '../../../apiserver/client/failover-transport.ts';
import type { Connection } from '../../../apiserver/client/https-transport.ts';
import { impersonating } from '../../../apiserver/client/impersonating-transport.ts';
import { MultiplexedTransport } from '../../../apiserver/client/multiplexed-transport.ts';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import type { Transport } from '../../../apiserver/client/transport.ts';
import { UnreachableError } from '../../../apiserver/client/unreachable-error.ts';
import { DUTY_NAMES } from '../../../controllers/duties.ts';
import { Controllers, ELECTION_IDENTITY } from '../../../controllers/run.ts';
import { machineProcesses } from '../../../nodelet/drivers/qemu/machine-processes.ts';
import { type Logger, lineLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { NoAnswerError } from '../../../resources/ambient/with-deadline.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { Failure } from '../../failure.ts';
import { type Io, printLine, warn } from '../../io.ts';
import { Steps } from '../steps.ts';
import { unlessInterrupted } from '../unless-interrupted.ts';
import { untilAborted } from '../until-aborted.ts';
import { readCredential } from './credential.ts';
import { isHealthy, serveHealth } from './health-server.ts';
import type { ControllersProcessOptions } from './options.ts';
import { OutageTeller } from './outage-teller.ts';
import { processMark } from './process-mark.ts';
import { RenewedTransport } from './renewed-transport.ts';

const clock = systemClock;
const ids = systemIds;
const random = Math.random;
const GROUP = 'system:controllers';
/** How long a server may take to come up beside us. */
const SERVER_WAIT_MS = 60_000;
const POLL_MS = 200;

/** Runs duties against servers elsewhere until the signal aborts. Throws a `Failure` when it cannot begin. */
export async function runControllers(options: ControllersProcessOptions, io: Io, signal: AbortSignal): Promise<void> {
  await unlessInterrupted(serve(options, io, signal), signal);
  printLine(io, '\nstopped; others may lead now');
}

async function serve(options: ControllersProcessOptions, io: Io, signal: AbortSignal): Promise<void> {
  const steps = new Steps(io, clock);
  const log = logTo(io);
  await using held = new AsyncDisposableStack();
  const transport = await openTransport(options, io, log, held);
  const transportFor = (identity: string) =>
    impersonating(identity === ELECTION_IDENTITY ? transport.impatient : transport.send, identity, GROUP);
  await steps.step(
    'API server',
    () => knock(transportFor(ELECTION_IDENTITY), io, signal),
    (version) => `API server ${version}`,
  );
  transport.tell((line) => steps.say(line));
  const processes = machineProcesses(clock);
  const mark = await processMark({ processes, hostname: hostname(), pid: process.pid });
  const controllers = new Controllers({
    transportFor,
    clock,
    ids,
    random,
    log,
    where: `${hostname()}/${process.pid}`,
    ...(mark === undefined ? {} : { process: mark }),
    shared: true,
    ...(options.only === undefined ? {} : { only: options.only }),
    onLead: (led) => steps.say(led.length === 0 ? 'leads nothing' : `leads ${led.join(', ')}`),
  });
  held.use(controllers);
  if (options.healthPort !== undefined) {
    const port = await health(options.healthPort, controllers, held);
    steps.say(`  health on http://127.0.0.1:${port}/readyz`);
  }
  const duties = options.only ?? DUTY_NAMES;
  await steps.step(
    'member of the election',
    () => ready(controllers, signal),
    (member) => `${member} stands by for ${duties.join(', ')}`,
  );
  await untilAborted(signal);
}

interface Transports {
  readonly send: Transport;
  /** For the election, which cannot wait: when no answer came in time, all goes to another server. */
  readonly impatient: Transport;
  /** From here on outages are told. */
  tell(say: (line: string) => void): void;
}

async function openTransport(
  options: ControllersProcessOptions,
  io: Io,
  log: Logger,
  held: AsyncDisposableStack,
): Promise<Transports> {
  const { servers } = options;
  const choice = servers.length === 0 ? undefined : new ServerChoice(servers, random);
  const open = (connection: Connection) =>
    choice === undefined
      ? new MultiplexedTransport(connection)
      : openFailover({ servers: choice, clock, random }, (server) => ({ ...connection, server }));
  let at = '';
  const read = async () => {
    const credential = await readCredential(options, io);
    at = choice === undefined ? credential.connection.server : choice.servers.join(' and ');
    return credential;
  };
  let say: (line: string) => void = () => {};
  const teller = new OutageTeller((line) => say(line));
  const tell = (given: typeof say) => {
    say = given;
  };
  const renewed = held.use(await RenewedTransport.open({ read, open, clock, log }));
  const send = teller.listening(renewed.send, () => at);
  if (choice === undefined || choice.servers.length === 1) return { send, impatient: send, tell };
  const impatient: Transport = async (request) => {
    const asked = choice.next() ?? '';
    try {
      return await send(request);
    } catch (error) {
      if (error instanceof NoAnswerError && choice.next() === asked) {
        log.info('server does not answer', { server: asked });
        choice.failed(asked);
        renewed.reopen();
      }
      throw error;
    }
  };
  return { send, impatient, tell };
}

/** Waits until a server answers, and sees whether the credential may act for duties. Answers the server's version. */
async function knock(transport: Transport, io: Io, signal: AbortSignal): Promise<string> {
  const client = new ApiClient(transport);
  const beganMs = clock.monotonic();
  for (let told = false; ; ) {
    try {
      const leases = '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases?limit=1';
      await client.json({ method: 'GET', path: leases, signal });
      const version = await client.json({ method: 'GET', path: '/version', signal });
      return String((version as { gitVersion?: unknown }).gitVersion ?? '');
    } catch (error) {
      if (error instanceof ApiError && (error.reason === 'Forbidden' || error.reason === 'Unauthorized'))
        throw new Failure(`the credential may not act for duties: ${error.message}`, {
          hint: 'use the controllers.kubeconfig in the home of the server, or the kubeconfig of an operator',
          cause: error,
        });
      if (!(error instanceof UnreachableError) || clock.monotonic() - beganMs > SERVER_WAIT_MS) throw error;
      if (!told) warn(io, `${error.message}; waits for it`);
      told = true;
      await clock.sleep(POLL_MS * 5, signal);
    }
  }
}

async function health(port: number, controllers: Controllers, held: AsyncDisposableStack): Promise<number> {
  try {
    return await serveHealth(port, () => controllers.health, held);
  } catch (error) {
    throw new Failure(`health cannot be served on port ${port}: ${error instanceof Error ? error.message : error}`, {
      hint: 'choose another with --health-port (0 takes any free one)',
      cause: error,
    });
  }
}

/** Resolves with the process's name when it is of use. */
async function ready(controllers: Controllers, signal: AbortSignal): Promise<string> {
  for (;;) {
    const now = controllers.health;
    if (now.member !== undefined && isHealthy(now)) return now.member;
    await clock.sleep(POLL_MS, signal);
  }
}

function logTo(io: Io): Logger {
  return lineLogger(
    (line) => warn(io, line),
    () => clock.now(),
  );
}
