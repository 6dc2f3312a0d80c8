import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ApiClient } from '../../apiserver/client/client.ts';
import { buildTinyLinux } from '../../nodelet/images/build-tiny-linux.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { findCondition, isTrue } from '../../resources/meta/condition.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { apply, FIELD_MANAGER } from '../actions/apply.ts';
import type { Io } from '../io.ts';
import { packageRoot } from '../package-root.ts';
import type { Home } from './home.ts';
import type { Steps } from './steps.ts';

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
export const QUICKSTART_VM = { namespace: 'demo', name: 'hello' } as const;

export interface QuickstartDeps {
  readonly io: Io;
  readonly steps: Steps;
  readonly home: Home;
  readonly client: ApiClient;
  readonly clock: Clock;
  /** Real guests need the image on disk; simulated hosts hold every image. */
  readonly buildImage: boolean;
}

/** Applies `manifests/quickstart` the first time, with the image it needs. */
export async function applyQuickstart(deps: QuickstartDeps, signal: AbortSignal): Promise<void> {
  const { client, steps, home } = deps;
  const namespaces = client.resource(NAMESPACES);
  const marked = await namespaces.get(MARKER.namespace, signal);
  if (marked.metadata.annotations?.[MARKER.annotation] !== undefined) return;
  if (deps.buildImage) await ensureImage(deps, signal);
  await steps.step(
    'applied manifests/quickstart',
    () => applyFolder(deps.io, home),
    () => 'applied manifests/quickstart (tenant demo, image tiny-linux, VM hello)',
  );
  await namespaces.patch(
    MARKER.namespace,
    { metadata: { annotations: { [MARKER.annotation]: 'applied' } } },
    {},
    signal,
  );
}

async function ensureImage({ steps, home }: QuickstartDeps, signal: AbortSignal): Promise<void> {
  const outDir = join(home.images, 'tiny-linux');
  if (existsSync(join(outDir, 'image.json'))) return;
  const options = { outDir, cacheDir: join(home.cache, 'packages'), packageRoot: packageRoot(), report: () => {} };
  await steps.step('built image tiny-linux', () => buildTinyLinux(options, signal));
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
    { ...files, ...how, output: undefined, kustomize },
  );
}

/** Waits for the quickstart's VM if it is there and should run; says why when it is not Ready in time. */
export async function awaitQuickstart({ client, steps, clock }: QuickstartDeps, signal: AbortSignal): Promise<boolean> {
  const { namespace, name } = QUICKSTART_VM;
  const vms = client.resource<VM>(VM, namespace);
  const vm = await vms.get(name, signal).catch((error) => {
    if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
    throw error;
  });
  if (vm === undefined || vm.spec.power !== 'Running' || vm.metadata.deletionTimestamp !== undefined) return false;
  const overdue = new AbortController();
  const stop = clock.after(READY_MS, () => overdue.abort(new Error('not Ready in time')));
  try {
    await steps.step(`VM ${namespace}/${name} is Ready`, () =>
      becameReady(vms, vm, AbortSignal.any([signal, overdue.signal])),
    );
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!overdue.signal.aborted) throw error;
    const ready = findCondition(await vms.get(name, signal), 'Ready');
    steps.say(
      `  not Ready after ${READY_MS / 1000} s: ${ready?.reason ?? 'Unknown'}: ${ready?.message ?? 'nothing was reported'}`,
    );
    return false;
  } finally {
    stop();
  }
}

async function becameReady(vms: ReturnType<ApiClient['resource']>, vm: VM, signal: AbortSignal): Promise<void> {
  const current = (object: VM) => isTrue(object, 'Ready');
  if (current(vm)) return;
  const fieldSelector = `metadata.name=${vm.metadata.name}`;
  for await (const event of await vms.watch({ fieldSelector, resourceVersion: vm.metadata.resourceVersion }, signal)) {
    if (event.type !== 'DELETED' && current(event.object as VM)) return;
  }
  signal.throwIfAborted();
  throw new Error('the watch of the VM ended');
}
