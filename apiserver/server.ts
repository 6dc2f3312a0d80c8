import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { BUILT_IN_KINDS } from '../resources/kinds.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import type { Kind, ResourceRef } from '../resources/meta/define-kind.ts';
import { resourceId } from '../resources/meta/resource-id.ts';
import type { AuditSink } from './admit-request.ts';
import { createApp } from './app.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { createBearerTokens } from './auth/bearer-tokens.ts';
import { controllerIdentity, type Identity, OPERATOR } from './auth/identity.ts';
import { OperatorTokens } from './auth/operator-tokens.ts';
import { ISSUER, ServiceAccountTokens } from './auth/service-account-tokens.ts';
import { TokenExpiries } from './auth/token-expiries.ts';
import { ObjectCodec } from './cache/object-codec.ts';
import type { RingLimits } from './cache/resource-cache.ts';
import { ListSnapshots } from './cache/snapshots.ts';
import { WatchCache } from './cache/watch-cache.ts';
import { ApiClient } from './client/client.ts';
import type { Transport } from './client/transport.ts';
import { keepCompacting } from './compactor.ts';
import { definitionKind } from './crds/definition-rules.ts';
import { followDefinitions } from './crds/follow-definitions.ts';
import { putOwnDefinitions } from './crds/own-definitions.ts';
import { serverVersion } from './discovery/version.ts';
import { EnrollmentTokens } from './enrollment/enrollment-tokens.ts';
import { HostAuthorities } from './enrollment/host-authorities.ts';
import { type HostAuthority, HostEnrollment } from './enrollment/host-enrollment.ts';
import { keepForgetting } from './idempotency/forget-answers.ts';
import { inProcessTransport } from './in-process-transport.ts';
import { JoinTokens } from './joining/join-tokens.ts';
import { type JoinMaterial, ServerJoining } from './joining/server-joining.ts';
import type { Upgrader } from './listen.ts';
import { RunningKeys, type ServerKeys } from './pki/running-keys.ts';
import { newServiceAccountKey } from './pki/service-account-key.ts';
import { answerersOf } from './questions/answerers.ts';
import { FenceRefresh } from './registry/fence-refresh.ts';
import { KeyQueue } from './registry/key-queue.ts';
import { Registry } from './registry/registry.ts';
import type { App } from './requests/server-request.ts';
import { RoomWatch } from './room/room-watch.ts';
import { MissingKeyError } from './sealing/missing-key-error.ts';
import { Resealer } from './sealing/resealer.ts';
import { sealedWith } from './sealing/sealed-with.ts';
import { Sealer } from './sealing/sealer.ts';
import { ServerDirectory } from './servers/server-directory.ts';
import { keepServerLease, type ServerAnnouncement } from './servers/server-lease.ts';
import type { Store } from './store/store.ts';
import { ControlHub } from './streams/control-hub.ts';
import { HostHolders } from './streams/host-holders.ts';
import { keepPresence } from './streams/presence.ts';
import { createPeerDialer, type PeerTls } from './streams/relay.ts';
import { StreamRouter } from './streams/stream-router.ts';
import { createUpgrader } from './streams/upgrade.ts';
import { logsHandler } from './streams/vm-streams.ts';
import { UnreadBudget } from './verbs/unread-budget.ts';
import type { ServerParts } from './verbs/verb-context.ts';

export interface ApiServerOptions {
  readonly store: Store;
  readonly kinds?: readonly Kind[];
  readonly operatorTokenHash: string;
  /** What signs the tokens of service accounts: EC P-256 keys as PEM, of which the first signs. Without one they are good for this run only. */
  readonly serviceAccountKey?: string;
  /** What Secrets are sealed with in the store: 32 bytes each in hex; the first seals, all of them open. */
  readonly sealingKeys: readonly string[];
  /** Who certifies hosts; without it none can be enrolled here. */
  readonly hostAuthority?: HostAuthority;
  /** Reads the keys again where one is asked for that is not known; undefined when they cannot be read. */
  readonly rereadKeys?: () => ServerKeys | undefined;
  /** What a new server is given; without it none is let in here. */
  readonly joinMaterial?: () => JoinMaterial;
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

export interface Announcement extends Omit<ServerAnnouncement, 'name'> {
  /** What shows the others who this is; asked for each stream. */
  readonly tls: () => Promise<PeerTls>;
}

/** For all watches together. What is kept of an event is about three times its bytes: parsed, encoded, and as the lines that were told. */
const UNREAD_BYTES = 64 << 20;
const AUDIT_NOBODY: AuditSink = () => {};

/** Starts a server over a store: fills its cache, makes the namespaces and pages every fleet has, and is ready when this resolves. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, ids, random, log } = options;
  const ending = new AbortController();
  const builtIn = options.kinds ?? BUILT_IN_KINDS;
  const sealer = new Sealer(options.sealingKeys);
  const resources = new Set(builtIn.filter((kind) => kind.sealed).map(resourceId));
  const cache = new WatchCache(store, options.ring, new ObjectCodec({ sealer, resources }));
  const definitions = definitionKind(builtIn);
  const registry = new Registry(
    builtIn.map((kind) => (resourceId(kind) === resourceId(definitions) ? definitions : kind)),
  );
  const watching = new AbortController();
  const parts: ServerParts = {
    store,
    cache,
    registry,
    snapshots: new ListSnapshots(clock),
    refresh: new FenceRefresh(store, cache),
    races: new KeyQueue(),
    unread: new UnreadBudget(options.unreadBytes ?? UNREAD_BYTES),
    ending: watching.signal,
    clock,
    ids,
    random,
    log,
  };
  const hub = new ControlHub({ clock, ids, log });
  const coordinationLeases = cache.resource('coordination.k8s.io/leases');
  const holders = new HostHolders(coordinationLeases);
  const caughtUp = async (signal: AbortSignal) => void (await cache.caughtUp(signal));
  const router = new StreamRouter({ hub, holders, caughtUp, serverName: options.name, clock, log });
  let lost: string | undefined;
  const { operatorTokenHash, serviceAccountKey: key = newServiceAccountKey() } = options;
  const expiries = new TokenExpiries(store);
  const reread = () => keys.reread();
  const serviceAccounts = new ServiceAccountTokens({ key, clock, ids, cache, expiries, reread });
  const enrollment = new EnrollmentTokens({ store, clock, ids });
  const operatorTokens = new OperatorTokens([{ hash: operatorTokenHash }], clock);
  const bearerTokens = createBearerTokens({ operatorTokens, serviceAccounts, enrollment });
  const hostAuthorities = new HostAuthorities(store, cache);
  const hosts = new HostEnrollment(enrollment, options.hostAuthority, hostAuthorities);
  const joining = new ServerJoining(new JoinTokens({ store, clock, ids }), options.joinMaterial);
  const admit = {
    authenticate: createAuthenticator(bearerTokens),
    audit: options.audit ?? AUDIT_NOBODY,
    clock,
    ids,
    log,
  };
  const app = createApp({
    ...admit,
    parts,
    version: serverVersion(options.platform),
    ready: () => lost,
    shortage: () => room.warning,
    streams: { 'coppice.dev/vms/logs': logsHandler(router) },
    answerers: answerersOf(bearerTokens, serviceAccounts, hosts, joining),
    issuer: { name: ISSUER, keySet: () => serviceAccounts.keySet() },
  });
  const transportFor = (identity: Identity) => inProcessTransport(app, identity);
  const resealer = new Resealer({
    store,
    cache,
    sealer,
    kinds: builtIn.filter((kind) => kind.sealed),
    transport: transportFor(controllerIdentity('resealer')),
    clock,
    log,
  });
  const keys = new RunningKeys({
    operatorTokens,
    serviceAccounts,
    expiries,
    sealer,
    resealer,
    hostAuthorities,
    clock,
    ...(options.rereadKeys === undefined ? {} : { read: options.rereadKeys }),
  });
  sealer.onMissing(reread);
  const room = new RoomWatch({
    store,
    transport: transportFor(controllerIdentity('store-room')),
    serverName: options.name,
    clock,
    log,
  });
  const following = (await cache.start(ending.signal)).following.catch((error: unknown) => {
    if (ending.signal.aborted) return;
    lost = error instanceof Error ? error.message : String(error);
    watching.abort(error);
    log.error('the cache lost the store', { error: lost });
  });
  const missingKeys = missingKeysOf(cache, sealer, resources);
  if (missingKeys.length > 0) {
    ending.abort(new Error('the server does not start'));
    await following;
    throw new MissingKeyError(missingKeys);
  }
  const stopDefining = followDefinitions({ cache, registry, builtIn, log });
  const ours = builtIn.filter((kind) => kind.origin === 'coppice');
  try {
    await putOwnDefinitions(parts, definitions, ours, ending.signal);
    await makeBasics(transportFor(OPERATOR));
  } catch (error) {
    ending.abort(error);
    throw error;
  }
  const stopDropping = cache.resource('coppice.dev/hosts').listen(({ removed, current }) => {
    if (removed) hub.drop(current.object.metadata.name, 'its Host was deleted');
  });
  const presence = keepPresence(
    {
      hub,
      holders,
      transport: transportFor(controllerIdentity('host-presence')),
      serverName: options.name,
      clock,
      log,
    },
    ending.signal,
  );
  const compacting = keepCompacting({ store, clock, log }, ending.signal);
  const endStreams = async () => {
    watching.abort(new Error('the server is stopping'));
    await hub[Symbol.asyncDispose]();
  };
  const forgetting = keepForgetting({ store, codec: cache.codec, clock, log }, ending.signal);
  const resealing = resealer.run(ending.signal);
  const watchingRoom = room.run(ending.signal);
  return {
    app,
    upgrade: createUpgrader({ ...admit, parts, hub, dialer: router }),
    registry,
    hub,
    parts,
    keys,
    transportFor,
    async announce({ uid, address, tls }, signal) {
      const directory = new ServerDirectory(coordinationLeases, clock);
      const transport = transportFor(controllerIdentity('apiserver'));
      const deps = { name: options.name, uid, address, transport, directory, clock, log };
      const until = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
      try {
        const lease = await keepServerLease(deps, until);
        router.forwardBy(createPeerDialer({ addressOf: (server) => directory.addressOf(server), tls, clock }));
        return {
          async [Symbol.asyncDispose]() {
            await lease[Symbol.asyncDispose]();
            directory[Symbol.dispose]();
          },
        };
      } catch (error) {
        directory[Symbol.dispose]();
        throw error;
      }
    },
    endStreams,
    async [Symbol.asyncDispose]() {
      stopDropping();
      stopDefining();
      await endStreams();
      ending.abort(new Error('the server is stopping'));
      await Promise.allSettled([following, presence, compacting, watchingRoom, forgetting, resealing]);
    },
  };
}

/**
 * The ids of keys that objects of the store are sealed with and that are not here. A key that is asked for in history only was dropped after everything
 * was sealed anew: then nothing is told of that history.
 */
function missingKeysOf(cache: WatchCache, sealer: Sealer, resources: ReadonlySet<string>): readonly string[] {
  if (sealer.missingKeys.length === 0) return [];
  const asked = new Set(sealer.missingKeys);
  const objects = [...resources].flatMap((resource) => cache.resource(resource).sorted());
  const missing = new Set(objects.map(({ object }) => sealedWith(object) ?? '').filter((id) => asked.has(id)));
  if (missing.size === 0) for (const resource of resources) cache.resource(resource).forget(cache.revision);
  return [...missing];
}

/** The namespaces and the policy that every fleet has; there already on every start but the first. */
async function makeBasics(transport: Transport): Promise<void> {
  const client = new ApiClient(transport);
  const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
  const policies = { group: 'coppice.dev', version: 'v1', plural: 'policies', kind: 'Policy', namespaced: false };
  const make = async (ref: ResourceRef, apiVersion: string, name: string) => {
    // Looked for first: a refused create costs compiling the kind's schema, on every start.
    const found = await client.resource(ref).get(name).catch(unless('NotFound'));
    if (found !== undefined) return;
    await client
      .resource(ref)
      .create({ apiVersion, kind: ref.kind, metadata: { name } })
      .catch(unless('AlreadyExists'));
  };
  await make(namespaces, 'v1', 'default');
  await make(namespaces, 'v1', 'coppice-system');
  await make(policies, 'coppice.dev/v1', 'default');
}

/** Turns one refusal into undefined. */
function unless(reason: ApiError['reason']): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof ApiError) || error.reason !== reason) throw error;
  };
}
