import type { WebSocket } from 'ws';
import type { VM } from '../../resources/kinds/vm.ts';
import { ApiError, forbidden, notFound } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { STREAM_CLOSE, type StreamRequest } from '../../resources/streams/control-messages.ts';
import { booleanOption, integerOption } from '../requests/options.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { keyOf, nameOf, type VerbContext } from '../verbs/verb-context.ts';
import { socketBytes } from './socket-bytes.ts';
import type { StreamDialer } from './stream-dialer.ts';

const MAX_COMMAND_WORDS = 1024;

/** The VM of a stream with its guest and host. Throws `NotFound`, or a refusal (403) that says what it lacks. */
function guestOf(context: VerbContext): { readonly guestID: string; readonly host: string; readonly vm: VM } {
  const { parts, served } = context;
  const stored = parts.cache.resource(resourceId(served.kind)).get(keyOf(context));
  if (stored === undefined) throw notFound(served.kind, nameOf(context));
  const vm = stored.object as VM;
  const { hostName, guestID } = vm.spec;
  if (hostName === undefined || guestID === undefined)
    throw refused(served.kind, vm, 'NotPlaced', 'it is not placed on a host yet');
  return { guestID, host: hostName, vm };
}

/** Opens an exec stream at the nodelet. Refused unless the guest runs. */
export async function dialExec(context: VerbContext, dialer: StreamDialer, signal: AbortSignal): Promise<WebSocket> {
  const { guestID, host, vm } = guestOf(context);
  const { query } = context.request;
  const command = query.getAll('command');
  if (command.length === 0)
    throw new ApiError('BadRequest', 'command: at least one is required (?command=uname&command=-a)');
  if (command.length > MAX_COMMAND_WORDS) {
    throw new ApiError('BadRequest', `command: ${command.length} words; at most ${MAX_COMMAND_WORDS}`);
  }
  const power = vm.status?.guest?.power;
  if (power !== 'Running') {
    throw refused(
      context.served.kind,
      vm,
      'NotRunning',
      `its guest is not running (phase ${vm.status?.phase ?? 'Pending'})`,
    );
  }
  const stdin = booleanOption(query, 'stdin');
  const tty = booleanOption(query, 'tty');
  return dialer.dial(host, { kind: 'exec', guestID, command, stdin, tty }, signal);
}

/** GET of `/logs`: the console of the guest as plain bytes; `follow` goes on, `tailLines` begins near the end. */
export function logsHandler(dialer: StreamDialer): (context: VerbContext) => Promise<ServerResponse> {
  return async (context) => {
    const { guestID, host } = guestOf(context);
    const { query, signal } = context.request;
    const tailLines = integerOption(query, 'tailLines');
    if (tailLines !== undefined && tailLines < 0)
      throw new ApiError('BadRequest', `tailLines: ${tailLines} is less than 0`);
    const follow = booleanOption(query, 'follow');
    const stream: StreamRequest = { kind: 'logs', guestID, follow, ...(tailLines === undefined ? {} : { tailLines }) };
    const socket = await dialer.dial(host, stream, signal);
    const bytes = socketBytes(socket, signal);
    const begun = await bytes.begin();
    if (begun.closed !== undefined) throw closedEarly(begun.closed.code, begun.closed.reason);
    return {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' },
      body: bytes.body,
    };
  };
}

function closedEarly(code: number, reason: string): ApiError {
  switch (code) {
    case STREAM_CLOSE.noSuchGuest:
      return new ApiError('NotFound', reason);
    case STREAM_CLOSE.notRunning:
      return new ApiError('Forbidden', reason, { details: { causes: [{ reason: 'NotRunning', message: reason }] } });
    default:
      return new ApiError('ServiceUnavailable', reason === '' ? 'the host ended the stream' : reason, {
        details: { retryAfterSeconds: 1 },
      });
  }
}

function refused(kind: Kind, vm: VM, cause: string, why: string): ApiError {
  return forbidden(kind, vm.metadata.name, why, { reason: cause, message: why });
}
