import type { ApiClient } from '../apiserver/client/client.ts';
import { EventRecorder } from '../controllers/runtime/events.ts';
import { hasReason, writeStatus } from '../controllers/runtime/write.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { Host } from '../resources/kinds/host.ts';
import type { VM } from '../resources/kinds/vm.ts';
import type { Volume } from '../resources/kinds/volume.ts';
import { apiVersionOf } from '../resources/meta/resource-id.ts';
import type { Driver } from './drivers/driver.ts';
import { type HostFacts, type HostReport, hostStatus } from './host-report.ts';
import type { Outcome } from './reconcile-guest.ts';
import type { Scrubber } from './scrub/scrubber.ts';
import type { Standing } from './standing.ts';
import type { StoreGuard } from './store-guard.ts';

export interface HostDeps {
  readonly name: string;
  /** What a Host made here is told to belong to; undefined = the default. */
  readonly group: string | undefined;
  readonly client: ApiClient;
  readonly driver: Driver;
  readonly log: Logger;
  readonly standing: Standing;
  readonly store: StoreGuard;
  readonly scrubber: Pick<Scrubber, 'look'>;
  readonly clock: Clock;
  readonly platform: HostReport['platform'];
  readonly reserveBytes: number;
  readonly host: () => Host | undefined;
  readonly wrote: (host: Host) => void;
  readonly vms: () => readonly VM[];
  readonly volumes: () => readonly Volume[];
  readonly images: () => HostReport['images'];
  /** Whether every Image of the catalog was looked for once: a shorter list than there is would have VMs refused. */
  readonly imagesKnown: () => boolean;
  readonly capacity: (signal: AbortSignal) => Promise<HostFacts['capacity']>;
}

/** How soon a driver that failed, or a store that is not trusted, is asked again. */
const AGAIN_MS = 10_000;

/** Sees to it that the Host object is there and tells what is so. */
export async function reconcileHost(deps: HostDeps, signal: AbortSignal): Promise<Outcome> {
  const hosts = deps.client.resource<Host>(Host);
  const host = deps.host() ?? (await register(deps, signal));
  if (!deps.standing.acts) {
    if (deps.standing.refusal !== undefined) await tellOfSecond(deps, host, deps.standing.refusal);
    return {};
  }
  const trust = deps.store.trust?.trusted === true ? deps.store.trust : await deps.store.check(signal);
  // Before the facts are looked for: with its answer goes what is so after it.
  const clearing = deps.scrubber.look(host, signal);
  const facts = await factsOf(deps, signal);
  const status = hostStatus({
    host,
    platform: deps.platform,
    driver: deps.driver,
    facts,
    vms: deps.vms(),
    volumes: deps.volumes(),
    images: deps.images(),
    reserveBytes: deps.reserveBytes,
    trust,
    nowMs: deps.clock.now(),
  });
  const { images, ...others } = status;
  const told = {
    ...others,
    ...(deps.imagesKnown() ? { images } : {}),
    ...(clearing === undefined || host.status?.scrub === undefined
      ? {}
      : { scrub: { ...host.status.scrub, clearing } }),
  };
  const written = await writeStatus(hosts, host, told, signal);
  if (written !== undefined) {
    deps.wrote(written);
    await tellOfLeak(deps, host, written);
  }
  return typeof facts === 'string' || !trust.trusted ? { requeueAfterMs: AGAIN_MS } : {};
}

/** People look at the Host, not at the log of the process that is refused. */
async function tellOfSecond(deps: HostDeps, host: Host, message: string): Promise<void> {
  await tell(deps, host, 'SecondNodelet', `a copy does not act: ${message}`);
}

async function tell(deps: HostDeps, host: Host, reason: string, message: string): Promise<void> {
  const { client, clock, log, name } = deps;
  const component = `system:host:${name}`;
  await using events = new EventRecorder({ client, component, instance: name, clock, log });
  events.record(host, { type: 'Warning', reason, message });
  await events.settled();
}

/** A slot does not come back by itself: somebody has to restart the machine. */
async function tellOfLeak(deps: HostDeps, before: Host, after: Host): Promise<void> {
  const [was = 0, is = 0] = [before, after].map((host) => host.status?.macosSlots?.leaked);
  if (is <= was) return;
  const slots = is === 1 ? '1 macOS slot is' : `${is} macOS slots are`;
  await tell(deps, after, 'SlotLeaked', `${slots} taken though no guest has it; a restart of the machine frees it`);
}

/** A Host that is there already is adopted as it is: its spec is the operator's. */
async function register({ client, name, group }: HostDeps, signal: AbortSignal): Promise<Host> {
  const hosts = client.resource<Host>(Host);
  const wish = {
    apiVersion: apiVersionOf(Host),
    kind: Host.kind,
    metadata: { name },
    spec: group === undefined ? {} : { group },
  };
  try {
    // The server fills in the defaults of the spec.
    return (await client.json({
      method: 'POST',
      path: hosts.path(),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: new TextEncoder().encode(JSON.stringify(wish)),
      signal,
    })) as Host;
  } catch (error) {
    if (hasReason(error, 'AlreadyExists')) return hosts.get(name, signal);
    throw error;
  }
}

async function factsOf({ driver, capacity }: HostDeps, signal: AbortSignal): Promise<HostFacts | string> {
  try {
    // In this order no slot counts twice, as its guest's and as leaked.
    const leakedSlots = await driver.leakedSlots(signal);
    return { capacity: await capacity(signal), guests: await driver.list(signal), leakedSlots };
  } catch (error) {
    signal.throwIfAborted();
    return `the driver failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
