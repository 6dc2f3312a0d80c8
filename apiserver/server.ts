import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { BUILT_IN_KINDS } from '../resources/kinds.ts';
import type { Kind } from '../resources/meta/define-kind.ts';
import type { AuditSink } from './admit-request.ts';
import { createApp } from './app.ts';
import { controllerIdentity, type Identity } from './auth/identity.ts';
import { Background } from './background.ts';
import type { RingLimits } from './cache/resource-cache.ts';
import type { Transport } from './client/transport.ts';
import { type CredentialOptions, createCredentials } from './credentials.ts';
import { serverVersion } from './discovery/version.ts';
import { inProcessTransport } from './in-process-transport.ts';
import type { Upgrader } from './listen.ts';
import { RunningKeys, type ServerKeys } from './pki/running-keys.ts';
import type { Registry } from './registry/registry.ts';
import type { App } from './requests/server-request.ts';
import { Sealer } from './sealing/sealer.ts';
import { createParts } from './server-parts.ts';
import type { Store } from './store/store.ts';
import type { ControlHub } from './streams/control-hub.ts';
import { type Announcement, ServerStreams } from './streams/server-streams.ts';
import { createUpgrader } from './streams/upgrade.ts';
import { logsHandler } from './streams/vm-streams.ts';
import type { ServerParts } from './verbs/verb-context.ts';

export interface ApiServerOptions extends CredentialOptions {
  readonly store: Store;
  readonly kinds?: readonly Kind[];
  /** What Secrets are sealed with in the store: 32 bytes each in hex; the first seals, all of them open. */
  readonly sealingKeys: readonly string[];
  /** Reads the keys again where one is asked for that is not known; undefined when they cannot be read. */
  readonly rereadKeys?: () => ServerKeys | undefined;
  /** How this server is called in leases. */
  readonly name: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: () => number;
  readonly log: Logger;
  readonly audit?: AuditSink;
  /** How much history of a resource is kept for watches; by default 20,000 events and 32 MiB. */
  readonly ring?: RingLimits;
  /** How many bytes of events are held for watches that have not read them, each event once; by default 64 MiB. */
  readonly unreadBytes?: number;
  readonly platform: { readonly platform: string; readonly runtime: string };
}

/** A running API server without a socket. Disposing it ends watches and streams; the store is its owner's. */
export interface ApiServer extends AsyncDisposable {
  readonly app: App;
  readonly upgrade: Upgrader;
  readonly registry: Registry;
  readonly hub: ControlHub;
  readonly parts: ServerParts;
  readonly keys: RunningKeys;
  /** A transport of this process, as an identity. */
  transportFor(identity: Identity): Transport;
  /** Ends watches and streams, and lets go of hosts; requests are still answered until it is disposed. */
  endStreams(): Promise<void>;
  /**
   * Makes this server known to the others of its store, once it listens, and lets it ask them for the hosts that are connected there. Throws
   * `NameTakenError`. Disposing what it answers takes the server out again.
   */
  announce(announcement: Announcement, signal?: AbortSignal): Promise<AsyncDisposable>;
}

const AUDIT_NOBODY: AuditSink = () => {};

/** Starts a server over a store: fills its cache, makes the namespaces and pages every fleet has, and is ready when this resolves. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { clock, ids, log, name: serverName, kinds: builtIn = BUILT_IN_KINDS, rereadKeys: read } = options;
  const watching = new AbortController();
  const sealer = new Sealer(options.sealingKeys);
  const parts = createParts({ ...options, builtIn, sealer }, watching.signal);
  const { cache, registry } = parts;
  const reread = () => keys.reread();
  const credentials = createCredentials(options, parts, reread);
  const { authenticate, answerers, issuer, ...known } = credentials;
  const streams = new ServerStreams({ cache, serverName, clock, ids, log });
  const { hub, router, instances } = streams;
  const admit = { authenticate, audit: options.audit ?? AUDIT_NOBODY, clock, ids, log };
  const app = createApp({
    ...admit,
    parts,
    version: serverVersion(options.platform),
    ready: () => background.unready,
    shortage: () => background.shortage,
    streams: { 'coppice.dev/vms/logs': logsHandler(router) },
    answerers,
    issuer,
  });
  const transportFor = (identity: Identity) => inProcessTransport(app, identity);
  const endStreams = async () => {
    watching.abort(new Error('the server is stopping'));
    await streams[Symbol.asyncDispose]();
  };
  const onLost = (error: unknown) => watching.abort(error);
  const ways = { streams, transportFor, endStreams, onLost };
  const background = new Background({ ...ways, parts, builtIn, sealer, serverName });
  const { resealer } = background;
  const keys = new RunningKeys({ ...known, sealer, resealer, clock, ...(read === undefined ? {} : { read }) });
  sealer.onMissing(reread);
  await background.start();
  return {
    app,
    upgrade: createUpgrader({ ...admit, parts, hub, instances, dialer: router }),
    registry,
    hub,
    parts,
    keys,
    transportFor,
    endStreams,
    announce(announcement, signal) {
      const { ending } = background;
      const until = signal === undefined ? ending : AbortSignal.any([signal, ending]);
      return streams.announce(announcement, transportFor(controllerIdentity('apiserver')), until);
    },
    [Symbol.asyncDispose]: () => background[Symbol.asyncDispose](),
  };
}
