import { systemClock } from '../../resources/ambient/system-clock.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { openChannelSocket } from '../exec/channel-socket.ts';
import { type ExecResult, type ExecStreams, runExec } from '../exec/exec-stream.ts';
import { explain } from '../explain.ts';
import { Exit, Failure, usage } from '../failure.ts';
import type { Io } from '../io.ts';
import { conditionOf } from '../render/conditions.ts';
import { openSession, type Session } from '../session.ts';
import { VMS, vmName } from '../vm-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

export interface ExecOptions {
  readonly words: readonly string[];
  readonly command: readonly string[] | undefined;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly timeout: string | undefined;
}

/** How long a VM may take to be running. */
const READY_WITHIN_MS = 10_000;
const RETRY_MS = 250;
const TIMED_OUT = 124;
const OUR_FAILURE = 125;
const BROKEN = 255;

/** Runs a command in a VM and ends with its exit code. */
export async function execInVM(io: Io, target: Target, options: ExecOptions): Promise<void> {
  const name = vmName(options.words, 'exec');
  const { command } = options;
  if (command === undefined || command.length === 0)
    throw usage(`write the command after --: coppice exec ${name} -- uname -a`, 'exec');
  if (options.tty && (!options.stdin || io.stdin.isTTY !== true)) throw usage('-t needs -i and a terminal', 'exec');
  const timeoutMs = options.timeout === undefined ? undefined : durationFlag('timeout', options.timeout);
  using deadline = new Deadline(io.signal, timeoutMs);
  const result = await attempt(io, target, name, command, options, deadline);
  if (result.kind === 'exited') {
    if (result.code !== 0) throw new Exit(result.code);
    return;
  }
  throw new Failure(result.message, { exitCode: result.kind === 'broken' ? BROKEN : OUR_FAILURE });
}

/** Whatever keeps the command from being run is our failure, and has its own exit code: the guest's codes are the guest's. */
async function attempt(
  io: Io,
  target: Target,
  name: string,
  command: readonly string[],
  options: ExecOptions,
  deadline: Deadline,
): Promise<ExecResult> {
  try {
    await using session = await openSession(io, target);
    return await runWhenReady(session, name, command, options, deadline.signal);
  } catch (error) {
    if (deadline.passed)
      throw new Failure(`the command did not end within ${options.timeout}`, { exitCode: TIMED_OUT });
    if (io.signal.aborted) throw error;
    const explained = explain(error);
    if (explained === undefined) throw error;
    const { message, hint } = explained;
    throw new Failure(message, { exitCode: OUR_FAILURE, cause: error, ...(hint === undefined ? {} : { hint }) });
  }
}

async function runWhenReady(
  session: Session,
  name: string,
  command: readonly string[],
  options: ExecOptions,
  signal: AbortSignal,
): Promise<ExecResult> {
  using ready = new Deadline(signal, READY_WITHIN_MS);
  await waitRunning(session, name, ready);
  const path = execPath(session.namespace, name, command, options);
  for (;;) {
    const socket = await openChannelSocket(session.connection, path, signal);
    const result = await withTerminal(session.io, options.tty, (streams) =>
      runExec(socket, options.stdin ? streams : { ...streams, stdin: undefined }, signal),
    );
    if (result.kind !== 'failed' || !result.retry || ready.signal.aborted) return result;
    // The guest runs, but what answers in it does not yet.
    await systemClock.sleep(RETRY_MS, signal);
  }
}

/** The path of the stream; each word of the command is a parameter of its own, so nothing is quoted or split. */
export function execPath(
  namespace: string,
  name: string,
  command: readonly string[],
  options: { readonly stdin: boolean; readonly tty: boolean },
): string {
  const parameters = new URLSearchParams(command.map((word): [string, string] => ['command', word]));
  if (options.stdin) parameters.set('stdin', 'true');
  if (options.tty) parameters.set('tty', 'true');
  const at = `/apis/coppice.dev/v1/namespaces/${encodeURIComponent(namespace)}/vms/${encodeURIComponent(name)}/exec`;
  return `${at}?${parameters}`;
}

async function waitRunning(session: Session, name: string, ready: Deadline): Promise<void> {
  const vms = session.client.resource<KubeObject>(VMS, session.namespace);
  const phaseOf = (vm: KubeObject | undefined) => String(valueAt(vm, ['status', 'phase']) ?? 'Pending');
  const first = await vms.get(name, session.io.signal);
  if (phaseOf(first) === 'Running') return;
  const power = valueAt(first, ['spec', 'power']);
  if (power === 'Stopped' || power === 'Paused')
    throw new Failure(`the VM ${name} is to be ${power}, so nothing runs in it`);
  let last: KubeObject | undefined = first;
  const running = (vm: KubeObject | undefined) => {
    if (vm === undefined) throw new Failure(`the VM ${name} was deleted`);
    return phaseOf(vm) === 'Running';
  };
  try {
    await watchUntil(vms, name, running, ready.signal, (vm) => {
      last = vm;
    });
  } catch (error) {
    if (!ready.passed) throw error;
    const why = conditionOf(last, 'Ready')?.message ?? '';
    throw new Failure(`the VM ${name} is ${phaseOf(last)}, not Running${why === '' ? '' : `: ${why}`}`);
  }
}

/** With a terminal in raw mode every key goes to the guest, Ctrl-C too. */
async function withTerminal<T>(io: Io, tty: boolean, run: (streams: ExecStreams) => Promise<T>): Promise<T> {
  const streams = { stdin: io.stdin, stdout: io.stdout, stderr: io.stderr };
  if (!tty) return run({ ...streams, terminal: undefined });
  io.stdin.setRawMode?.(true);
  try {
    return await run({ ...streams, terminal: io.stdout });
  } finally {
    io.stdin.setRawMode?.(false);
  }
}
