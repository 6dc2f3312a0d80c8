import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAdminKubeconfig } from '../apiserver/pki/admin-kubeconfig.ts';
import { kubectlPath } from '../test/kubectl/find-kubectl.ts';
import type { Backend } from './backend.ts';
import { FILLED_OBJECTS, filledBackends, fillStore } from './filled-store.ts';
import { type BenchWorld, type Goal, NotMeasured } from './goal.ts';
import { atMost, type Contest } from './harness.ts';
import { makeServerFolder, startServerProcess } from './server-process.ts';
import { timeProcess } from './time-process.ts';

/** What kube-apiserver took with kubectl 1.32 and as many custom resources, at best: measured elsewhere, on a machine of the same kind. */
const KUBERNETES_MS = 6400;

/** Goal 9: `kubectl get` of 10,000 objects, which asks for tables in pages of 500. */
export const kubectlGet: Goal = {
  names: ['9', 'kubectl-get'],
  async open(world, held) {
    const kubectl = kubectlPath();
    if (typeof kubectl !== 'string') throw new NotMeasured(kubectl.why);
    const stores = await filledBackends(world);
    return Promise.all(stores.map((backend) => contest(kubectl, backend, world, held)));
  },
};

async function contest(
  kubectl: string,
  backend: Backend,
  world: BenchWorld,
  held: AsyncDisposableStack,
): Promise<Contest> {
  const folder = await makeServerFolder(world, `kubectl-${backend.kind}`);
  await fillStore(world, folder, backend);
  const { port, ca, token } = held.use(await startServerProcess(world, 'api-server-process.ts', folder, backend.args));
  const kubeconfig = join(folder, 'kubeconfig');
  writeAdminKubeconfig(kubeconfig, { server: `https://127.0.0.1:${port}`, caCert: ca, token });
  const home = join(folder, 'home');
  await mkdir(home, { recursive: true });
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: home };
  return {
    goal: '9',
    title: `kubectl get images, ${FILLED_OBJECTS}${backend.suffix}`,
    unit: 'ms',
    ours: () => timeProcess(world.clock, kubectl, ['get', 'images'], env),
    must: atMost(0.5 * KUBERNETES_MS, 'ms'),
    great: atMost(0.3 * KUBERNETES_MS, 'ms'),
  };
}
