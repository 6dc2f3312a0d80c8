import assert from 'node:assert/strict';
import type { KubeObject } from '../../resources/meta/object.ts';
import { until } from '../harness/until.ts';
import { kubectlPath } from './find-kubectl.ts';
import { FluxRun } from './flux-run.ts';
import { GitopsWorld } from './gitops-world.ts';
import { isCurrent } from './kstatus.ts';

const kubectl = kubectlPath();
const PRUNE = 'kubectl apply -k fleet --prune --applyset=applysets.gitops.example.com/fleet';
const READY_MS = 60_000;

/** Each object and the version it has. */
const versions = (objects: readonly KubeObject[]) =>
  Object.fromEntries(objects.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.resourceVersion]));

/** Specs and what people say in metadata; what duties tell moves by itself. */
async function settled(world: GitopsWorld): Promise<void> {
  await until('every object is current', async () => (await world.standing()).every(isCurrent), READY_MS);
}

describe('a fleet in Git', function () {
  this.timeout(180_000);
  let world: GitopsWorld;
  const open = async () => {
    if (typeof kubectl !== 'string') throw new Error(kubectl.why);
    world = await GitopsWorld.open(kubectl);
  };
  before(function () {
    if (typeof kubectl === 'string') return;
    process.stderr.write(`skipped: a fleet in Git: ${kubectl.why}\n`);
    this.skip();
  });

  describe('applied by kubectl', () => {
    before(open);
    after(() => world[Symbol.asyncDispose]());

    it('is there on an empty server after one run, becomes current, and is unchanged from then on', async () => {
      const first = await world.out('kubectl apply -k fleet');
      assert.match(first, /^namespace\/mobile created$/m);
      assert.doesNotMatch(first, /unchanged/);
      await settled(world);
      const before = versions(await world.standing());
      const second = await world.out('kubectl apply -k fleet');
      assert.deepEqual(
        second.split('\n').filter((line) => line !== '' && !line.endsWith(' unchanged')),
        [],
      );
      assert.deepEqual(versions(await world.standing()), before);
      assert.equal(await world.out('kubectl diff -k fleet'), '');
      assert.equal(await world.out('coppice apply -k fleet | grep -v unchanged || true'), '');
      assert.match(await world.out('coppice plan -k fleet'), /^Plan: 14 unchanged\.$/m);
    });

    it('is waited for by kubectl wait', async () => {
      const waits = 'kubectl wait --for=condition=Ready --timeout=60s';
      const told = [
        await world.out(`${waits} policy/default pricelist/default image/macos-27 tenant/web`),
        await world.out(`${waits} lease.coppice.dev/signing leaseset/builders pool/xcode -n mobile`),
      ].join('');
      assert.equal(told.match(/condition met/g)?.length, 7);
    });

    it('is shown to drift by diff and plan, and is put right by the next run', async () => {
      await world.out(`kubectl patch tenant web --type=merge -p '{"spec":{"quota":{"maxVMs":99}}}'`);
      await world.out(
        `kubectl patch lease.coppice.dev signing -n mobile --type=merge -p '{"spec":{"duration":"48h"}}'`,
      );
      const diff = await world.run('kubectl diff -k fleet');
      assert.equal(diff.code, 1);
      assert.match(diff.stdout, /^-\s+maxVMs: 99\n\+\s+maxVMs: 20$/m);
      const plan = await world.run('coppice plan -k fleet');
      assert.equal(plan.code, 2);
      assert.match(plan.stdout, /tenant\.coppice\.dev\/web configured\n {2}spec\.quota\.maxVMs: {2}99 → 20\n/);
      assert.equal(
        await world.out('kubectl apply -k fleet | grep -v unchanged'),
        'tenant.coppice.dev/web configured\n',
      );
      assert.equal(await world.out('kubectl diff -k fleet'), '');
      // What Git does not say is nobody's drift.
      assert.equal(
        await world.out(`kubectl get lease.coppice.dev signing -n mobile -o jsonpath={.spec.duration}`),
        '48h',
      );
    });

    it('loses what left the repository, and a revert of that costs nothing', async () => {
      await world.out('kubectl apply -f fleet/applyset/kind.yaml');
      await world.out('kubectl wait --for=condition=Established crd/applysets.gitops.example.com --timeout=60s');
      await world.out('kubectl apply --server-side --field-manager=kubectl-applyset -f fleet/applyset/fleet.yaml');
      await world.out(PRUNE);
      assert.equal(await world.out(`${PRUNE} | grep -v unchanged || true`), '');
      const grant = () =>
        world.out(
          `kubectl get lease.coppice.dev signing -n mobile -o jsonpath='{.status.host} {.status.grantedAt} {.status.earliestEnd} {.status.pricePerHour}'`,
        );
      const granted = await grant();
      await world.without('tenants/mobile/kustomization.yaml', 'lease.yaml', 'pool.yaml');
      await world.without('tenants/web/kustomization.yaml', 'leaseset.yaml');
      const gone = await world.out(`${PRUNE} | grep -v unchanged | sort`);
      assert.equal(
        gone,
        'lease.coppice.dev/signing pruned\nleaseset.coppice.dev/weekend pruned\npool.coppice.dev/xcode pruned\n',
      );
      const [host = ''] = granted.split(' ');
      assert.equal(await world.out(`kubectl get host ${host} -o jsonpath={.status.lease.released}`), 'true');
      await world.revert('tenants/mobile/kustomization.yaml');
      const plan = await world.run('coppice plan -k fleet');
      assert.match(plan.stdout, new RegExp(`Lease/signing .* - +takes over ${host}, which is held and paid for`));
      await world.out(PRUNE);
      await world.out('kubectl wait --for=condition=Ready lease.coppice.dev/signing -n mobile --timeout=60s');
      assert.equal(await grant(), granted);
    });

    it('loses a tenant with its namespace: kubectl comes to an end whatever it begins with', async () => {
      await world.without('kustomization.yaml', 'tenants/web');
      let last = await world.run(PRUNE);
      // It prunes kinds in no order. A Namespace whose Tenant is not going yet is refused, and what went with its Tenant is not found.
      for (let run = 0; last.code !== 0 && run < 60; run++) {
        assert.match(last.stderr, /Tenant web lives in it|not found/);
        last = await world.run(PRUNE);
      }
      assert.equal(last.code, 0);
      await until('they are gone', async () => (await world.run('kubectl get tenant web namespace/web')).code === 1);
      assert.equal(await world.out(`${PRUNE} | grep -v unchanged || true`), '');
    });

    it('keeps a tenant until what it leases is over, and prunes on meanwhile', async () => {
      await world.without('kustomization.yaml', 'tenants/mobile');
      let last = await world.run(PRUNE);
      for (let run = 0; last.code !== 0 && run < 60; run++) last = await world.run(PRUNE);
      assert.equal(last.code, 0);
      await world.out(
        `kubectl wait tenant/mobile --for=jsonpath='{.status.conditions[?(@.type=="Ready")].status}'=False --timeout=60s`,
      );
      for (let run = 0; run < 3; run++) await world.out(PRUNE);
    });
  });

  describe('applied by the server', () => {
    before(open);
    after(() => world[Symbol.asyncDispose]());

    it('is there on an empty server after one run, and no later run moves anything', async () => {
      const apply = 'kubectl apply -k fleet --server-side --force-conflicts';
      await world.out(apply);
      await settled(world);
      const before = versions(await world.standing());
      await world.out(apply);
      assert.deepEqual(versions(await world.standing()), before);
      assert.equal(await world.out('kubectl diff -k fleet --server-side --force-conflicts'), '');
      await world.out(`kubectl patch pricelist default --type=merge -p '{"spec":{"macPerHour":"9"}}'`);
      const drift = await world.run('kubectl diff -k fleet --server-side --force-conflicts');
      assert.equal(drift.code, 1);
      assert.match(drift.stdout, /^\+\s+macPerHour: "0.65"$/m);
      await world.out(apply);
      assert.equal(await world.out('kubectl diff -k fleet --server-side --force-conflicts'), '');
    });
  });

  describe('applied in the order of Flux', () => {
    before(open);
    after(() => world[Symbol.asyncDispose]());

    it('dry-runs, applies and finds no drift after that', async () => {
      const objects = await world.objects();
      const flux = new FluxRun(world);
      const first = await flux.apply(objects);
      assert.deepEqual(new Set(Object.values(first)), new Set(['created', 'configured']));
      await settled(world);
      assert.deepEqual(new Set(Object.values(await flux.apply(objects))), new Set(['unchanged']));
    });

    it('collects what left the repository, a whole tenant too', async () => {
      const before = await world.objects();
      await world.without('kustomization.yaml', 'tenants/web');
      await world.without('tenants/mobile/kustomization.yaml', 'pool.yaml', 'lease.yaml');
      const flux = new FluxRun(world);
      const after = await world.objects();
      await flux.apply(after);
      assert.deepEqual(await flux.collect(before, after), []);
      await until('they are gone', async () => (await world.run('kubectl get tenant web namespace/web')).code === 1);
      await settled(world);
    });
  });
});
