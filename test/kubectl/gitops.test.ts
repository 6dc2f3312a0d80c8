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
  const objects = await world.objects();
  await until('every object is current', async () => (await world.standing(objects)).every(isCurrent), READY_MS);
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
      assert.equal(await world.changes('apply -k fleet'), '');
      assert.match(await world.changes('plan -k fleet'), /^Plan: 13 unchanged\.$/m);
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
      const plan = await world.coppice('plan -k fleet');
      assert.equal(plan.code, 2);
      assert.match(plan.stdout, /tenant\.coppice\.dev\/web configured\n {2}spec\.quota\.maxVMs: {2}99 → 20\n/);
      assert.equal(
        await world.out('kubectl apply -k fleet | grep -v unchanged'),
        'tenant.coppice.dev/web configured\n',
      );
      assert.equal(await world.out('kubectl get tenant web -o jsonpath={.spec.quota.maxVMs}'), '20');
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
      const gone = await world.out(`${PRUNE} | grep -v unchanged | sort`);
      assert.equal(gone, 'lease.coppice.dev/signing pruned\npool.coppice.dev/xcode pruned\n');
      const [host = ''] = granted.split(' ');
      assert.equal(await world.out(`kubectl get host ${host} -o jsonpath={.status.lease.released}`), 'true');
      await world.revert('tenants/mobile/kustomization.yaml');
      const plan = await world.coppice('plan -k fleet');
      assert.match(plan.stdout, new RegExp(`Lease/signing .* - +takes over ${host}, which is held and paid for`));
      await world.out(PRUNE);
      await world.out('kubectl wait --for=condition=Ready lease.coppice.dev/signing -n mobile --timeout=60s');
      assert.equal(await grant(), granted);
      await world.without('tenants/mobile/kustomization.yaml', 'leaseset.yaml');
      assert.equal(await world.out(`${PRUNE} | grep -v unchanged`), 'leaseset.coppice.dev/builders pruned\n');
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
      await until('they are gone', () => world.hasLost('web'));
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
      await world.out(PRUNE);
    });
  });

  describe('applied and pruned by coppice', () => {
    before(open);
    after(() => world[Symbol.asyncDispose]());
    const apply = 'apply -k fleet --prune --applyset configmaps/fleet';

    it('is there on an empty server after one run, and unchanged from then on', async () => {
      assert.match(await world.changes(apply), /^lease\.coppice\.dev\/signing created$/m);
      assert.equal(await world.changes(apply), '');
    });

    it('loses a tenant with its namespace in one run, as was planned', async () => {
      await world.without('kustomization.yaml', 'tenants/web');
      const lost = [
        'pool.coppice.dev/previews',
        'volume.coppice.dev/pg-data',
        'tenant.coppice.dev/web',
        'namespace/web',
      ];
      const plan = await world.coppice('plan -k fleet --prune --applyset configmaps/fleet');
      assert.equal(plan.code, 2, plan.stderr);
      assert.deepEqual(plan.stdout.match(/^\S+(?= deleted)/gm), lost);
      const dry = await world.changes(`${apply} --dry-run server`);
      assert.equal(
        dry.replace(/^.* unchanged .*\n/gm, ''),
        lost.map((each) => `${each} pruned (server dry run)\n`).join(''),
      );
      assert.equal(await world.changes(apply), lost.map((each) => `${each} pruned\n`).join(''));
      await until('they are gone', () => world.hasLost('web'));
      assert.equal(await world.changes(apply), '');
    });

    it('leaves a set alone that another program keeps, and does not prune after a failure', async () => {
      await world.out('kubectl annotate configmap fleet applyset.kubernetes.io/tooling=other/v1 --overwrite');
      const foreign = await world.coppice(apply);
      assert.equal(foreign.code, 1);
      assert.match(foreign.stderr, /the set of configmap\/fleet is kept by other\/v1/);
      await world.out('kubectl annotate configmap fleet applyset.kubernetes.io/tooling=coppice/v1 --overwrite');
      await world.without('tenants/mobile/kustomization.yaml', 'pool.yaml');
      await world.edit('base/policy.yaml', (text) => text.replace('Automatic', 'Sometimes'));
      const failed = await world.coppice(apply);
      assert.equal(failed.code, 1);
      assert.doesNotMatch(failed.stdout, /pruned/);
      await world.revert('base/policy.yaml');
      assert.equal(await world.changes(apply), 'pool.coppice.dev/xcode pruned\n');
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
      assert.equal(await world.out('kubectl get pricelist default -o jsonpath={.spec.macPerHour}'), '0.65');
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
      await world.without('tenants/mobile/kustomization.yaml', 'lease.yaml');
      const flux = new FluxRun(world);
      const after = await world.objects();
      await flux.apply(after);
      assert.deepEqual(await flux.collect(before, after), []);
      await until('they are gone', () => world.hasLost('web'));
      await settled(world);
    });

    it('collects in the foreground too, as Argo CD does', async () => {
      const before = await world.objects();
      await world.without('tenants/mobile/kustomization.yaml', 'pool.yaml', 'leaseset.yaml');
      assert.deepEqual(await new FluxRun(world).collect(before, await world.objects(), 'Foreground'), []);
      const left = async () => (await world.run('kubectl get pools,leasesets,vms -n mobile -o name')).stdout;
      await until('they are gone, and their own', async () => (await left()) === '', READY_MS);
      await settled(world);
    });
  });
});
