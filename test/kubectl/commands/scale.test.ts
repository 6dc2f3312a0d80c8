import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';
import type { KubectlSession } from '../kubectl-world.ts';

/** The namespace is a tenant's, with a set of leases that nobody has hosts for, and a pool. */
const make = (k: KubectlSession) =>
  k.out(`kubectl create -f - <<EOF
apiVersion: coppice.dev/v1
kind: Tenant
metadata: {name: $NS}
---
apiVersion: coppice.dev/v1
kind: LeaseSet
metadata: {name: ci}
spec: {replicas: 2, template: {spec: {minVCPUs: 4}}}
---
apiVersion: coppice.dev/v1
kind: Pool
metadata: {name: warm}
spec: {image: debian-13, replicas: 1, size: {vcpus: 1, memory: 1Gi}}
EOF`);

const SET = 'leaseset.coppice.dev/ci';
const POOL = 'pool.coppice.dev/warm';

describeCommands('kubectl, to scale sets of leases and pools', {
  'scale: one, several, from a number, from a file': async (k) => {
    await make(k);
    await k.prints('kubectl scale leaseset/ci --replicas=3', `${SET} scaled`);
    await k.prints('kubectl scale lset ci --replicas=4 --current-replicas=3', `${SET} scaled`);
    await k.fails('kubectl scale lset ci --replicas=9 --current-replicas=3', /Expected replicas to be 3, was 4/);
    await k.prints('kubectl scale leaseset/ci pool/warm --replicas=5', `${SET} scaled`, `${POOL} scaled`);
    await k.prints('kubectl get lset/ci pool/warm -o jsonpath="{.items[*].spec.replicas}"', '5 5');
    await k.prints('kubectl get lset ci -o yaml > ci.yaml && kubectl scale -f ci.yaml --replicas=1', `${SET} scaled`);
    await k.prints('kubectl scale pools --all --replicas=0', `${POOL} scaled`);
    await k.prints('kubectl get lset/ci pool/warm -o jsonpath="{.items[*].spec.replicas}"', '1 0');
    await k.prints(
      'kubectl wait lset/ci --for=jsonpath="{.status.wanted}"=1 --timeout=30s && kubectl get leases -l coppice.dev/lease-set=ci -o jsonpath="{.items[*].status.phase}"',
      `${SET} condition met`,
      'Pending',
    );
  },

  'scale: no number that cannot be': async (k) => {
    await make(k);
    for (const what of ['lset/ci', 'pool/warm']) {
      await k.fails(`kubectl scale ${what} --replicas=-1`, /COUNT must be greater than or equal to 0/);
      await k.fails(`kubectl scale ${what} --replicas=1001`, /spec\.replicas: .*less than or equal to 1000/);
      const patch = (replicas: string) =>
        `kubectl patch ${what} --subresource=scale --type=merge -p '{"spec":{"replicas":${replicas}}}'`;
      await k.fails(patch('-5'), /spec\.replicas: Invalid value: -5/);
      await k.fails(patch('5000000000'), /spec\.replicas: Invalid value: 5000000000/);
      await k.fails(patch('"x"'), /replicas/);
    }
    await k.prints('kubectl get lset/ci pool/warm -o jsonpath="{.items[*].spec.replicas}"', '2 1');
  },

  'get and patch the subresource, and apply it from the server’s side': async (k) => {
    await make(k);
    await k.prints('kubectl wait lset/ci --for=jsonpath="{.status.replicas}"=2 --timeout=30s', `${SET} condition met`);
    await k.prints('kubectl get lset ci --subresource=scale', 'NAME  DESIRED  AVAILABLE  AGE', 'ci  2  2  <age>');
    await k.prints(
      'kubectl get lset ci --subresource=scale -o jsonpath="{.apiVersion} {.kind} {.status.selector}"',
      'autoscaling/v1 Scale coppice.dev/lease-set=ci',
    );
    await k.prints(
      `kubectl patch lset ci --subresource=scale --type=merge -p '{"spec":{"replicas":3}}'`,
      'scale.autoscaling/ci patched',
    );
    const config = '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"ci"},"spec":{"replicas":6}}';
    const scale = '/apis/coppice.dev/v1/namespaces/$NS/leasesets/ci/scale';
    const token = "$(kubectl config view --raw -o jsonpath='{.users[0].user.token}')";
    const apply = (query: string) =>
      `curl -sk -X PATCH "$URL${scale}?fieldManager=gitops${query}" -H "Authorization: Bearer ${token}" -H 'Content-Type: application/apply-patch+yaml' -d '${config}'`;
    assert.equal((JSON.parse(await k.out(apply(''))) as { reason?: string }).reason, 'Conflict');
    const applied = JSON.parse(await k.out(apply('&force=true'))) as { spec: { replicas: number } };
    assert.equal(applied.spec.replicas, 6);
    await k.prints('kubectl get lset ci -o jsonpath={.spec.replicas}', '6');
  },

  'discovery, the schema and the rights tell of it': async (k) => {
    const { resources } = JSON.parse(await k.out('kubectl get --raw /apis/coppice.dev/v1')) as {
      resources: { name: string; kind: string; group?: string; verbs: string[] }[];
    };
    const scales = resources.filter(({ name }) => name.endsWith('/scale'));
    assert.deepEqual(
      scales.map(({ name, kind, group, verbs }) => [name, kind, group, verbs.join()]),
      ['leasesets/scale', 'pools/scale'].map((name) => [name, 'Scale', 'autoscaling', 'get,patch,update']),
    );
    const { paths } = JSON.parse(await k.out('kubectl get --raw /openapi/v3/apis/coppice.dev/v1')) as { paths: object };
    for (const plural of ['leasesets', 'pools'])
      assert.ok(`/apis/coppice.dev/v1/namespaces/{namespace}/${plural}/{name}/scale` in paths, plural);
    await k.prints('kubectl auth can-i update leasesets.coppice.dev --subresource=scale', 'yes');
    await k.exits(1, 'kubectl auth can-i update leasesets.coppice.dev --subresource=scale --as=bob', 'no');
  },

  'the owner of a tenant scales its own, and nobody else’s': async (k) => {
    await make(k);
    await k.out(
      `kubectl create --raw /apis/coppice.dev/v1/tenants/$NS/token -f - <<< '{}' | grep -o '"token": *"[^"]*"' | cut -d'"' -f4 > token`,
    );
    const owner = 'kubectl --token=$(cat token) --kubeconfig=owner';
    await k.out('sed "s/^ *token:.*//" "$KUBECONFIG" > owner');
    await k.prints(`${owner} scale leaseset/ci --replicas=3`, `${SET} scaled`);
    await k.prints(`${owner} scale pool/warm --replicas=2`, `${POOL} scaled`);
    await k.prints(`${owner} auth can-i patch pools.coppice.dev --subresource=scale`, 'yes');
    await k.fails(`${owner} scale leaseset/ci --replicas=3 -n t-0`, /NotFound|not found/);
  },
});
