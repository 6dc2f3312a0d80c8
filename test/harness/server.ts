import type { AuditSink } from '../../apiserver/admit-request.ts';
import { tokenHash } from '../../apiserver/auth/bearer-tokens.ts';
import { type Identity, OPERATOR } from '../../apiserver/auth/identity.ts';
import type { RingLimits } from '../../apiserver/cache/resource-cache.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import type { HostAuthority } from '../../apiserver/enrollment/host-enrollment.ts';
import { type Listener, type ListenLimits, listen } from '../../apiserver/listen.ts';
import { openPki } from '../../apiserver/pki/pki-files.ts';
import { type ApiServer, startApiServer } from '../../apiserver/server.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import type { Store } from '../../apiserver/store/store.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Ids } from '../../resources/ambient/ids.ts';
import { type Logger, silentLogger } from '../../resources/ambient/log.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';

export const OPERATOR_TOKEN = 'operator-token-of-the-tests';

/** What test servers seal Secrets with. */
export const SEALING_KEY = '5e'.repeat(32);

export interface TestServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly store: Store;
  /** The operator's client, in memory. */
  readonly client: ApiClient;
  /** A client as somebody else. */
  as(identity: Identity): ApiClient;
}

/** The real app over a memory store (or another), joined in memory: no socket. */
export async function startTestServer(
  options: {
    readonly clock?: Clock;
    readonly store?: Store;
    readonly kinds?: readonly Kind[];
    readonly log?: Logger;
    readonly audit?: AuditSink;
    readonly serviceAccountKey?: string;
    readonly ids?: Ids;
    readonly ring?: RingLimits;
    readonly name?: string;
    readonly hostAuthority?: HostAuthority;
    readonly unreadBytes?: number;
  } = {},
): Promise<TestServer> {
  const store = options.store ?? (await MemoryStore.open({ ids: systemIds }));
  const server = await startApiServer({
    store,
    operatorTokenHash: tokenHash(OPERATOR_TOKEN),
    sealingKeys: [SEALING_KEY],
    name: options.name ?? 'test',
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
    random: () => 0.5,
    log: options.log ?? silentLogger,
    ...(options.serviceAccountKey === undefined ? {} : { serviceAccountKey: options.serviceAccountKey }),
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    ...(options.unreadBytes === undefined ? {} : { unreadBytes: options.unreadBytes }),
    ...(options.ring === undefined ? {} : { ring: options.ring }),
    ...(options.hostAuthority === undefined ? {} : { hostAuthority: options.hostAuthority }),
    platform: { platform: 'linux/amd64', runtime: 'test' },
  });
  for (const kind of options.kinds ?? []) server.registry.add(kind);
  const as = (identity: Identity) => new ApiClient(server.transportFor(identity));
  return {
    server,
    store,
    client: as(OPERATOR),
    as,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      if (options.store === undefined) await store[Symbol.asyncDispose]();
    },
  };
}

export interface ListeningServer extends AsyncDisposable {
  readonly listener: Listener;
  readonly url: string;
  readonly caCert: string;
}

/** A test server on a free loopback port, with TLS of its own. `folder` holds its keys. */
export async function listenTestServer(
  test: TestServer,
  folder: string,
  limits: Partial<ListenLimits> = {},
  graceMs = 0,
): Promise<ListeningServer> {
  const pki = await openPki(folder, ['127.0.0.1', 'localhost'], systemClock, systemIds);
  const leaf = await pki.serverLeaf();
  const tls = { ...leaf, ca: pki.caCert };
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls,
    app: test.server.app,
    upgrade: test.server.upgrade,
    clock: systemClock,
    limits,
    graceMs,
  });
  return {
    listener,
    url: `https://127.0.0.1:${listener.port}`,
    caCert: pki.caCert,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
