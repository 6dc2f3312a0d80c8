import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../resources/ambient/clock.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { CHANNEL_PROTOCOL, MAX_MESSAGE_BYTES } from '../../resources/streams/channel-frames.ts';
import { CONTROL_PROTOCOL, DIALBACK_PROTOCOL, RELAY_PROTOCOL } from '../../resources/streams/control-messages.ts';
import { type AdmitDeps, admitRequest } from '../admit-request.ts';
import { askOf } from '../app.ts';
import { authorize, authorizeObject } from '../auth/authorize.ts';
import { authorizeHost } from '../auth/authorize-host.ts';
import { WhileKnown } from '../auth/while-known.ts';
import { noSuchResource } from '../documents.ts';
import { endSocket } from '../end-socket.ts';
import type { Upgrader } from '../listen.ts';
import { parseRoute } from '../requests/route.ts';
import type { ServerRequest, ServerResponse } from '../requests/server-request.ts';
import { keyOf, nameOf, type ServerParts, type VerbContext } from '../verbs/verb-context.ts';
import type { ControlHub } from './control-hub.ts';
import { joinSockets } from './join-sockets.ts';
import type { NodeletInstances } from './nodelet-instances.ts';
import { streamIn } from './relay.ts';
import type { StreamDialer } from './stream-dialer.ts';
import { dialExec } from './vm-streams.ts';

interface UpgradeDeps extends AdmitDeps {
  readonly parts: ServerParts;
  readonly hub: ControlHub;
  readonly instances: NodeletInstances;
  /** What clients' streams are opened by, wherever their hosts are connected. */
  readonly dialer: StreamDialer;
}

/** What to do with the socket once the handshake is done. */
interface Accepted {
  readonly protocol: string;
  take(socket: WebSocket): void;
  /** The handshake came to nothing. */
  abandon?(): void;
}

const NO_BODY = new Uint8Array();

/** Answers WebSocket handshakes: control sockets, dial-backs and exec. What is refused is a plain HTTP answer with a Status. */
export function createUpgrader(deps: UpgradeDeps): Upgrader {
  return (request, incoming, socket, head) => {
    let accepted: Accepted | undefined;
    const handle = async (identity: VerbContext['identity']): Promise<ServerResponse> => {
      accepted = await accept(deps, contextOf(deps, request, identity));
      return { status: 101, headers: {}, body: NO_BODY };
    };
    const finish = (response: ServerResponse) => {
      if (accepted === undefined) return refuse(socket, response, deps.clock);
      const { protocol, take, abandon } = accepted;
      let taken = false;
      const server = new WebSocketServer({
        noServer: true,
        perMessageDeflate: false,
        maxPayload: MAX_MESSAGE_BYTES + 16,
        handleProtocols: () => protocol,
      });
      // It calls back before it returns, or not at all when the client has gone or its handshake is wrong.
      server.handleUpgrade(incoming, socket, head, (opened) => {
        taken = true;
        take(opened);
      });
      if (!taken) abandon?.();
    };
    Promise.resolve(admitRequest(deps, request, false, handle)).then(finish, () => socket.destroy());
  };
}

function contextOf(deps: UpgradeDeps, request: ServerRequest, identity: VerbContext['identity']): VerbContext {
  const route = parseRoute(request.path);
  if (route.type !== 'resource') throw noSuchResource();
  const { target } = route;
  const served = deps.parts.registry.find(target.group, target.version, target.plural);
  const offered = served?.kind.streams.some((stream) => stream.name === target.subresource) === true;
  if (served === undefined || target.name === undefined || !offered) throw noSuchResource();
  if (served.kind.namespaced !== (target.namespace !== undefined)) throw noSuchResource();
  const ask = askOf(request, served, target, 'create');
  authorize(identity, ask);
  authorizeHost(identity, deps.parts.cache.world);
  return { parts: deps.parts, request, identity, served, target, ask, representation: 'Object' };
}

async function accept(deps: UpgradeDeps, context: VerbContext): Promise<Accepted> {
  const { request, served, target } = context;
  await deps.parts.cache.caughtUp(request.signal);
  switch (`${served.kind.plural}/${target.subresource}`) {
    case 'hosts/control':
      return acceptControl(deps, context);
    case 'hosts/dialback':
      return acceptDialback(deps, context);
    case 'hosts/relay':
      return acceptRelay(deps, context);
    case 'vms/exec':
      return acceptExec(deps, context);
    default:
      throw new ApiError('BadRequest', `${target.subresource} is not a WebSocket stream`);
  }
}

async function acceptControl({ hub, instances, parts }: UpgradeDeps, context: VerbContext): Promise<Accepted> {
  const stored = parts.cache.resource(resourceId(context.served.kind)).get(keyOf(context));
  if (stored === undefined) throw new ApiError('NotFound', `hosts.coppice.dev "${nameOf(context)}" not found`);
  authorizeObject(context.identity, context.served.kind, stored.object);
  const protocol = offer(context, CONTROL_PROTOCOL);
  const { query, signal } = context.request;
  const id = query.get('instance') || undefined;
  if (id !== undefined) await instances.admit(nameOf(context), { id, where: query.get('where') ?? '' }, signal);
  return { protocol, take: (socket) => hub.attach(nameOf(context), socket, id) };
}

function acceptDialback({ hub }: UpgradeDeps, context: VerbContext): Accepted {
  const take = hub.redeem(context.request.query.get('ticket') ?? '', nameOf(context));
  if (take === undefined) throw new ApiError('Forbidden', 'the ticket is unknown, used, or too old');
  return { protocol: offer(context, DIALBACK_PROTOCOL), take };
}

/** A stream that another server has a client for: on the host that is connected here, or not at all. */
async function acceptRelay({ hub }: UpgradeDeps, context: VerbContext): Promise<Accepted> {
  const protocol = offer(context, RELAY_PROTOCOL);
  const nodelet = await hub.dial(nameOf(context), streamIn(context.request.query), context.request.signal);
  return joined(protocol, nodelet);
}

/** A command that goes on as long as whoever gave it may come in. */
async function acceptExec(deps: UpgradeDeps, context: VerbContext): Promise<Accepted> {
  const protocol = offer(context, CHANNEL_PROTOCOL);
  const accepted = joined(protocol, await dialExec(context, deps.dialer, context.request.signal));
  const known = WhileKnown.of(context.request, context.identity, deps);
  if (known === undefined) return accepted;
  return {
    protocol,
    take(client) {
      accepted.take(client);
      known.refused.addEventListener('abort', () => client.close(NOT_KNOWN, 'the credential is refused by now'));
      client.once('close', () => known[Symbol.dispose]());
    },
    abandon() {
      known[Symbol.dispose]();
      accepted.abandon?.();
    },
  };
}

/** What a stream is closed with whose credential is good no more. */
const NOT_KNOWN = 4401;

function joined(protocol: string, nodelet: WebSocket): Accepted {
  return {
    protocol,
    take: (client) => joinSockets(client, nodelet),
    abandon: () => nodelet.close(1001, 'the client went away'),
  };
}

/** The one subprotocol of a stream must be among those the client offers. */
function offer({ request }: VerbContext, wanted: string): string {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  if (offered.includes(wanted)) return wanted;
  throw new ApiError(
    'BadRequest',
    `this stream speaks ${wanted}; the client offers ${offered.join(', ') || 'nothing'}`,
  );
}

/** Not by an import: that takes all of a module's exports, one of which has Node load its client of HTTP at every start. */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

function refuse(socket: Duplex, { status, headers, body }: ServerResponse, clock: Clock): void {
  const bytes = body instanceof Uint8Array ? body : NO_BODY;
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`),
    `content-length: ${bytes.length}`,
    'connection: close',
  ];
  endSocket(socket, Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]), clock);
}
