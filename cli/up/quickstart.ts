import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ApiClient, ResourceClient } from '../../apiserver/client/client.ts';
import type { buildTinyLinux } from '../../nodelet/images/build-tiny-linux.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { apply, FIELD_MANAGER } from '../actions/apply.ts';
import { explain } from '../explain.ts';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { packageRoot } from '../package-root.ts';
import type { Home } from '../serve/home.ts';
import type { Steps } from '../serve/steps.ts';

const NAMESPACES: ResourceRef = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
/** Where the store remembers that the quickstart was applied: it is applied once, and what the user then deletes stays deleted. */
const MARKER = { namespace: 'coppice-system', annotation: 'coppice.dev/quickstart' } as const;
const READY_MS = 120_000;
/** Between a watch that ended early and the next. */
const REWATCH_MS = 500;
export const QUICKSTART_VM = { namespace: 'demo', name: 'hello' } as const;

export interface QuickstartDeps {
  readonly io: Io;
  readonly steps: Steps;
  readonly home: Home;
  readonly client: ApiClient;
  readonly clock: Clock;
  /** Hosts that this start does not run: a VM there is not waited for. */
  readonly leftBehind?: ReadonlySet<string>;
  /** Makes the image that real guests need on disk; absent with simulated hosts, which hold every image. */
  readonly buildImage?: typeof buildTinyLinux;
}

/**
 * Applies `manifests/quickstart` the first time, with the image it needs. What keeps it from being applied is said and no more: the control plane is of use
 * without it, and the next start tries again.
 */
export async function applyQuickstart(deps: QuickstartDeps, signal: AbortSignal): Promise<void> {
  const { client, steps, home } = deps;
  const namespaces = client.resource(NAMESPACES);
  const marked = await namespaces.get(MARKER.namespace, signal);
  if (marked.metadata.annotations?.[MARKER.annotation] !== undefined) return;
  try {
    await ensureImage(deps, signal);
    await steps.step(
      'manifests/quickstart',
      () => applyFolder(deps.io, home),
      () => 'applied manifests/quickstart (tenant demo, image tiny-linux, VM hello)',
    );
  } catch (error) {
    signal.throwIfAborted();
    for (const line of reasons(error)) steps.say(`  ${line}`);
    steps.say('  up without the quickstart; the next start tries it again (--no-quickstart leaves it out)');
    return;
  }
  await namespaces.patch(
    MARKER.namespace,
    { metadata: { annotations: { [MARKER.annotation]: 'applied' } } },
    {},
    signal,
  );
}

/** What `apply` refused object by object it has said already. */
function reasons(error: unknown): readonly string[] {
  const explained = explain(error);
  if (explained === undefined) return [];
  const message = error instanceof Error ? error.message : explained.message;
  const hint = error instanceof Failure ? error.hint : undefined;
  return [message, ...explained.details, ...(hint === undefined ? [] : [`hint: ${hint}`])];
}

async function ensureImage({ steps, home, buildImage }: QuickstartDeps, signal: AbortSignal): Promise<void> {
  const outDir = join(home.images, 'tiny-linux');
  if (buildImage === undefined || existsSync(join(outDir, 'image.json'))) return;
  const options = { outDir, cacheDir: join(home.cache, 'packages'), packageRoot: packageRoot(), report: () => {} };
  await steps.step(
    'image tiny-linux',
    () => buildImage(options, signal),
    () => 'built image tiny-linux',
  );
}

/** Applies as `coppice apply -k` does, so that doing it again changes nothing; its lines are not shown. */
async function applyFolder(io: Io, home: Home): Promise<void> {
  const quiet = new Writable({ write: (_chunk, _encoding, done) => done() });
  const files = { words: [], files: [], recursive: false };
  const how = { dryRun: false, validate: 'strict', serverSide: false, force: false, fieldManager: FIELD_MANAGER };
  const kustomize = join(packageRoot(), 'manifests', 'quickstart');
  await apply(
    { ...io, stdout: quiet },
    { kubeconfig: home.kubeconfig, context: undefined, namespace: undefined },
    { ...files, ...how, output: undefined, kustomize, applySet: undefined },
  );
}

/** Waits for the quickstart's VM while it is there and should run; says why when it is not Ready in time. Answers whether it is Ready. */
export async function awaitQuickstart(deps: QuickstartDeps, signal: AbortSignal): Promise<boolean> {
  const { client, steps, clock } = deps;
  const { namespace, name } = QUICKSTART_VM;
  const vms = client.resource<VM>(VM, namespace);
  const expected = await expectedVM(vms, signal);
  if (expected === undefined || deps.leftBehind?.has(expected.spec.hostName ?? '') === true) return false;
  const label = `VM ${namespace}/${name}`;
  const overdue = new AbortController();
  const stop = clock.after(READY_MS, () => overdue.abort(new Error('not Ready in time')));
  try {
    return await steps.step(
      label,
      () => becomesReady(vms, expected, clock, AbortSignal.any([signal, overdue.signal])),
      (ready) => `${label} is ${ready ? 'Ready' : 'not to run any more'}`,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!overdue.signal.aborted) throw error;
    const vm = await expectedVM(vms, signal);
    const ready = vm === undefined ? undefined : findCondition(vm, 'Ready');
    const why = `${ready?.reason ?? 'Unknown'}: ${ready?.message ?? 'nothing was reported'}`;
    steps.say(`  not Ready after ${READY_MS / 1000} s: ${why}`);
    return false;
  } finally {
    stop();
  }
}

const shouldRun = (vm: VM) => vm.spec.power === 'Running' && vm.metadata.deletionTimestamp === undefined;

/** The VM, if it is there and should run. */
async function expectedVM(vms: ResourceClient<VM>, signal: AbortSignal): Promise<VM | undefined> {
  try {
    const vm = await vms.get(QUICKSTART_VM.name, signal);
    return shouldRun(vm) ? vm : undefined;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
    throw error;
  }
}

/** Resolves when it is Ready, or with false when it shall not run any more. The server may end a watch at any time: then another is begun. */
async function becomesReady(vms: ResourceClient<VM>, first: VM, clock: Clock, signal: AbortSignal): Promise<boolean> {
  for (let vm: VM | undefined = first; vm !== undefined; vm = await expectedVM(vms, signal)) {
    if (isTrue(vm, 'Ready')) return true;
    const outcome = await watched(vms, vm, signal);
    if (outcome !== undefined) return outcome;
    await clock.sleep(REWATCH_MS, signal);
  }
  return false;
}

/** What one watch has to say: undefined when it ended without an answer. */
async function watched(vms: ResourceClient<VM>, vm: VM, signal: AbortSignal): Promise<boolean | undefined> {
  const fieldSelector = `metadata.name=${vm.metadata.name}`;
  const { resourceVersion } = vm.metadata;
  try {
    for await (const { type, object } of await vms.watch({ fieldSelector, resourceVersion }, signal)) {
      if (type === 'DELETED') return false;
      if (type === 'BOOKMARK') continue;
      if (!shouldRun(object)) return false;
      if (isTrue(object, 'Ready')) return true;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
  }
  signal.throwIfAborted();
  return undefined;
}
