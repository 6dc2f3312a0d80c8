import { waitsForScrub } from '../../resources/guards/host-scrub.ts';
import { poolRefOf } from '../../resources/guards/pool-members.ts';
import { tenantShareOf } from '../../resources/guards/shares.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { jsonEqual, type KubeObject, objectKey } from '../../resources/meta/object.ts';
import type { Change } from '../runtime/cache.ts';
import { type Duty, type DutyParts, watchCache } from '../runtime/duty.ts';
import { ShownWorld } from '../runtime/shown-world.ts';
import { Failures } from './failures.ts';
import type { PoolDeps } from './pool-deps.ts';
import { reconcile } from './reconcile.ts';
import { isAboutToTake } from './room.ts';

/** Changes come in bursts: of a hundred members, and of a whole fleet. */
const GATHER_MS = 20;
const DEADLINE_MS = 600_000;

/** Keeps as many members of each pool warm as are wanted: refills it, replaces what failed, rolls what is outdated, and gives way to a quota. */
export function poolDuty({ client, informers, events, clock, log }: DutyParts): Duty {
  const pools = informers.of(Pool);
  const poolsByNamespace = pools.index((pool) => [pool.metadata.namespace ?? '']);
  const vms = informers.of(VM);
  const membersByPool = vms.index((vm) => [poolRefOf(vm)?.uid].filter((uid) => uid !== undefined));
  const view = new ShownWorld(informers, [Policy, Tenant, Image, Host, Pool, VM]);
  const failures = new Failures();
  const deps: PoolDeps = { client, pools, vms, membersByPool, view, failures, events, clock, log };
  const keysOf = (some: Iterable<Pool>) => [...some].map(({ metadata }) => objectKey(metadata));
  return {
    name: 'pool',
    watches: [
      // The world first: nothing may be decided on a change that it has not taken in.
      ...view.watches,
      watchCache(pools, ({ key, before, after }) => {
        if (after === undefined && before !== undefined) failures.forget(before.metadata.uid);
        return [key];
      }),
      watchCache(vms, poolsNamedBy, GATHER_MS),
      watchCache(
        vms,
        (change) => (movesQuota(change) ? keysOf(poolsByNamespace.get(namespaceOf(change))) : []),
        GATHER_MS,
      ),
      watchCache(informers.of(Tenant), (change) => (isMoved(change) ? keysOf(poolsByNamespace.get(change.key)) : [])),
      watchCache(informers.of(Policy), (change) => (isMoved(change) ? keysOf(pools.list()) : [])),
      watchCache(informers.of(Image), ({ key, before, after }) =>
        jsonEqual(imageFacts(before), imageFacts(after))
          ? []
          : keysOf([...pools.list()].filter(({ spec }) => spec.image === key)),
      ),
      watchCache(
        informers.of(Host),
        ({ before, after }) => (jsonEqual(hostFacts(before), hostFacts(after)) ? [] : keysOf(pools.list())),
        GATHER_MS,
      ),
    ],
    workers: 4,
    deadlineMs: DEADLINE_MS,
    reconcile: (key, signal) => reconcile(key, deps, signal),
  };
}

const namespaceOf = ({ before, after }: Change<VM>): string => (after ?? before)?.metadata.namespace ?? '';

/** The keys of the pools that a VM is, or was, a member of. */
function poolsNamedBy({ before, after }: Change<VM>): ReadonlySet<string> {
  const names = [before, after].flatMap((vm) => {
    const owner = vm && poolRefOf(vm);
    return vm === undefined || owner === undefined
      ? []
      : [objectKey({ name: owner.name, namespace: vm.metadata.namespace })];
  });
  return new Set(names);
}

/** Whether a VM came to hold something else of its namespace's quota, or to be about to take a warm guest, or no longer is. */
function movesQuota({ before, after }: Change<VM>): boolean {
  const facts = (vm: VM | undefined) => vm && { share: tenantShareOf(vm), takes: isAboutToTake(vm) };
  return !jsonEqual(facts(before), facts(after));
}

function isMoved({ before, after }: Change<KubeObject>): boolean {
  const facts = (object: KubeObject | undefined) =>
    object && { uid: object.metadata.uid, goes: object.metadata.deletionTimestamp, spec: object.spec };
  return !jsonEqual(facts(before), facts(after));
}

function imageFacts(image: Image | undefined): unknown {
  return image && { spec: image.spec, digest: image.status?.digest };
}

/** What of a host makes its members fit to be taken, or not. */
function hostFacts(host: Host | undefined): unknown {
  return (
    host && {
      spec: host.spec,
      labels: host.metadata.labels,
      ready: findCondition(host, 'Ready')?.status,
      lease: host.status?.lease,
      scrub: waitsForScrub(host),
      images: host.status?.images,
    }
  );
}
