import { connect, type Socket } from 'node:net';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { DriverError, type ExecRequest, type GuestProcess } from '../drivers/driver.ts';
import { AgentSession } from './agent-session.ts';
import { NONCE_BYTES } from './protocol.ts';

/**
 * One session with the agent inside a running guest.
 *
 * - **The guest is not trusted.** What it sends is bounds-checked; a guest that breaks the protocol ends the session and nothing else.
 * - **One session at a time.** QEMU serves one client of the port; a second waits until the first has closed.
 * - **A session owns its commands.** When it ends (dispose included), the agent hangs up and then kills what the session started. The guest runs on.
 * - Everything is bounded: 256 KiB a stream in either direction, 64 commands, 64 KiB a frame.
 *
 * After the session has ended every call rejects `AgentUnavailable`.
 */
export interface AgentConnection extends AsyncDisposable {
  readonly hello: AgentHello;
  /**
   * Starts a command; resolves once it runs. A command that cannot be executed still "runs": it exits 127 (not found) or 126 (not executable)
   * with a sentence on stderr. Ending the signal kills the command and everything in its session.
   * Throws `Invalid` (empty command, NUL bytes, over 64 KiB) and `AgentUnavailable` (no session, or 64 commands run already).
   */
  exec(request: AgentExecRequest, signal: AbortSignal): Promise<GuestProcess>;
  /** Resolves when the agent has answered. */
  ping(signal: AbortSignal): Promise<void>;
  info(signal: AbortSignal): Promise<GuestInfo>;
  /** Asks the guest to power off. Resolves when the agent has taken the request, not when the guest is off. */
  shutdown(signal: AbortSignal): Promise<void>;
  /** Sets the guest's wall clock, in milliseconds since the epoch. */
  setTime(ms: number, signal: AbortSignal): Promise<void>;
  /** Makes a copied guest another one: host name, machine id and fresh entropy. */
  setIdentity(identity: { readonly hostname: string }, signal: AbortSignal): Promise<void>;
  /** Resolves when the session has ended, by either side. Never rejects. */
  readonly closed: Promise<void>;
}

export interface AgentHello {
  readonly agentVersion: string;
  /** Changes with each boot of the guest; "" if the guest cannot tell. */
  readonly bootId: string;
}

export interface AgentExecRequest extends ExecRequest {
  /** Absolute; without it the command starts in `/`. */
  readonly cwd?: string;
}

/** What the guest says of itself; checked for form only. */
export interface GuestInfo {
  readonly hostname: string;
  /** IP addresses without prefix lengths, loopback and link-local left out. At most 32. */
  readonly addresses: readonly string[];
  readonly uptimeMs: number;
}

interface ConnectAgent {
  /** The unix socket QEMU serves the port `dev.coppice.agent.0` at. */
  readonly socketPath: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
}

const RETRY_MS = 100;

/**
 * Opens a session with the agent of the guest behind the socket, waiting for as long as the signal lets it: for the socket to appear, for another
 * client to leave it, and for the guest to come up. Rejects with the signal's reason, and with `Unsupported` when the agent speaks another version.
 */
export async function connectAgent(options: ConnectAgent, signal: AbortSignal): Promise<AgentConnection> {
  const entropy = (bytes: number) => Buffer.from(options.ids.secret(bytes), 'hex');
  for (;;) {
    signal.throwIfAborted();
    const socket = await openSocket(options.socketPath, signal);
    if (socket !== undefined) {
      const session = new AgentSession(socket, { clock: options.clock, nonce: entropy(NONCE_BYTES), entropy });
      try {
        await session.meet(signal);
        return session;
      } catch (error) {
        await session[Symbol.asyncDispose]();
        if (!(error instanceof DriverError && error.reason === 'AgentUnavailable')) throw error;
      }
    }
    await options.clock.sleep(RETRY_MS, signal);
  }
}

/** An open socket; undefined when nobody listens there yet. */
function openSocket(path: string, signal: AbortSignal): Promise<Socket | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket | undefined>();
  const socket = connect(path);
  const onAbort = () => {
    socket.destroy();
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('connect', () => resolve(socket));
  socket.once('error', () => resolve(undefined));
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}
