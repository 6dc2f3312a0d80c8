import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';
import type { KubectlSession } from '../kubectl-world.ts';

const make = (k: KubectlSession) => k.out('kubectl create -f $FILES/w1.yaml');
const W1 = 'widget.demo.example.com/w1';
const merge = (patch: string) => `kubectl patch wg w1 --type=merge -p '${patch}'`;
const size = 'kubectl get wg w1 -o jsonpath={.spec.size}';

describeCommands('kubectl, to write', {
  'create: once, with a name of the server’s, and tried': async (k) => {
    await k.prints('kubectl create -f $FILES/w1.yaml --dry-run=server', `${W1} created (server dry run)`);
    await k.prints('kubectl create -f $FILES/w1.yaml', `${W1} created`);
    await k.fails(
      'kubectl create -f $FILES/w1.yaml',
      /\(AlreadyExists\).* widgets\.demo\.example\.com "w1" already exists/,
    );
    const named = await k.out('sed "s/name: w1/generateName: w-/" $FILES/w1.yaml | kubectl create -f - -o name');
    assert.match(named, /^widget\.demo\.example\.com\/w-[a-z0-9]{5}\n$/);
    await k.prints('kubectl get wg w1 -o jsonpath={.metadata.generation}', '1');
  },

  'edit: what the editor changed is written; nothing, nothing; what is wrong is told': async (k) => {
    await make(k);
    await k.prints('KUBE_EDITOR="sed -i s/small/large/" kubectl edit wg w1', `${W1} edited`);
    await k.prints('kubectl edit wg w1', '! Edit cancelled, no changes made.');
    await k.fails(
      'KUBE_EDITOR="sed -i s/large/huge/" kubectl edit wg w1',
      /widgets\.demo\.example\.com "w1" is invalid/,
    );
    await k.prints(size, 'large');
    await k.out('kubectl patch wg w1 --subresource=status --type=merge -p \'{"status":{"phase":"Up"}}\'');
    await k.prints('KUBE_EDITOR="sed -i s/Up/Down/" kubectl edit wg w1 --subresource=status', `${W1} edited`);
    await k.prints('kubectl get wg w1 -o jsonpath={.status.phase}', 'Down');
    await k.out('kubectl create cm c --from-literal=a=b');
    await k.prints('KUBE_EDITOR="sed -i s/a:.b/a:\\ c/" kubectl edit cm c', 'configmap/c edited');
  },

  'patch: merge and JSON for any kind, strategic for those of Kubernetes itself': async (k) => {
    await make(k);
    await k.prints(merge('{"spec":{"color":"red"}}'), `${W1} patched`);
    await k.prints(merge('{"spec":{"color":"red"}}'), `${W1} patched (no change)`);
    await k.prints(
      `kubectl patch wg w1 --type=json -p '[{"op":"test","path":"/spec/color","value":"red"},{"op":"replace","path":"/spec/color","value":"blue"}]'`,
      `${W1} patched`,
    );
    await k.fails(
      `kubectl patch wg w1 -p '{"spec":{}}'`,
      /application\/strategic-merge-patch\+json is not supported by demo\.example\.com\/v1, Kind=Widget/,
    );
    await k.fails(
      merge('{"spec":{"size":"huge"}}'),
      /spec\.size: Unsupported value: "huge": supported values: "small", "medium", "large"/,
    );
    const pruned = [`${W1} patched (no change)`, '! Warning: unknown field "spec.bogus"'];
    await k.prints(merge('{"spec":{"bogus":1}}'), ...pruned);
    await k.out('kubectl create cm c --from-literal=a=b');
    await k.prints(`kubectl patch cm c -p '{"data":{"c":"d"}}'`, 'configmap/c patched');
    await k.prints(`kubectl patch cm c -p '{"data":{"a":null}}' -o jsonpath={.data}`, '{"c":"d"}');
    await k.out(`kubectl patch cm c -p '{"metadata":{"finalizers":["x.y/a"]}}'`);
    await k.prints(
      `kubectl patch cm c -p '{"metadata":{"finalizers":["x.y/b"]}}' -o jsonpath={.metadata.finalizers}`,
      '["x.y/b","x.y/a"]',
    );
    await k.out(`kubectl patch cm c --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`);
  },

  'label and annotate: set, replace, remove, all at once, and only what was read': async (k) => {
    await make(k);
    await k.prints('kubectl label wg w1 a=b', `${W1} labeled`);
    await k.fails('kubectl label wg w1 a=c', /'a' already has a value \(b\), and --overwrite is false/);
    await k.prints('kubectl label wg w1 a=c --overwrite', `${W1} labeled`);
    await k.prints('kubectl label wg w1 a-', `${W1} unlabeled`);
    await k.prints('kubectl label wg w1 --list | sort', 'app=demo', 'tier=front');
    await k.prints('kubectl annotate wg --all x=y', `${W1} annotated`);
    await k.prints('kubectl annotate wg w1 x-', `${W1} annotated`);
    await k.fails(
      'kubectl label wg w1 z=1 --resource-version=1',
      /the object has been modified; please apply your changes to the latest version/,
    );
    await k.fails("kubectl label wg w1 'z=a b'", /a valid label must be|Invalid value/);
    const generation = 'kubectl get wg w1 -o jsonpath={.metadata.generation}';
    await k.prints(generation, '1');
  },

  'replace: what is there, not what is not; --force deletes and creates': async (k) => {
    await make(k);
    await k.prints('kubectl get wg w1 -o yaml | sed s/small/large/ | kubectl replace -f -', `${W1} replaced`);
    await k.prints(size, 'large');
    await k.fails('sed s/w1/w7/ $FILES/w1.yaml | kubectl replace -f -', /widgets\.demo\.example\.com "w7" not found/);
    await k.fails(
      'kubectl get wg w1 -o yaml > old.yaml; kubectl label wg w1 a=b > /dev/null; kubectl replace -f old.yaml',
      /the object has been modified/,
    );
    const uid = 'kubectl get wg w1 -o jsonpath={.metadata.uid}';
    const before = await k.out(uid);
    await k.prints(
      'kubectl replace --force -f $FILES/w1.yaml',
      'widget.demo.example.com "w1" deleted',
      `${W1} replaced`,
    );
    assert.notEqual(await k.out(uid), before);
    await k.out('kubectl create cm c --from-literal=a=b');
    await k.prints(
      'kubectl get cm c -o json | sed s/\\"b\\"/\\"c\\"/ | kubectl replace -f - -o jsonpath={.data.a}',
      'c',
    );
  },

  'scale: to a number, from a number, and not beyond what is allowed': async (k) => {
    await make(k);
    const replicas = 'kubectl get wg w1 -o jsonpath={.spec.replicas}';
    await k.prints('kubectl scale wg w1 --replicas=3', `${W1} scaled`);
    await k.prints('kubectl scale wg w1 --replicas=4 --current-replicas=3', `${W1} scaled`);
    await k.fails('kubectl scale wg w1 --replicas=5 --current-replicas=3', /Expected replicas to be 3, was 4/);
    await k.prints(replicas, '4');
    await k.prints('kubectl scale -f $FILES/w1.yaml --replicas=2', `${W1} scaled`);
    await k.prints('kubectl scale wg --all --replicas=5', `${W1} scaled`);
    await k.prints(replicas, '5');
    await k.fails('kubectl scale wg w1 --replicas=500', /spec\.replicas: Invalid value: 500/);
    await k.out('kubectl create cm c');
    await k.fails('kubectl scale cm c --replicas=2', /could not find the requested resource/);
  },

  'delete: each way to cascade, with grace, at once, tried, raw, by label and file': async (k) => {
    const create = 'kubectl create -f $FILES/w1.yaml > /dev/null';
    const deleted = 'widget.demo.example.com "w1" deleted';
    for (const how of ['', '--cascade=foreground', '--cascade=orphan', '--now', '--grace-period=5', '--wait=false']) {
      await k.prints(`${create}; kubectl delete wg w1 ${how}; kubectl get wg -o name`, deleted);
    }
    await k.prints(
      `${create}; kubectl delete wg w1 --grace-period=0 --force`,
      'widget.demo.example.com "w1" force deleted',
      '! Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. ' +
        'The resource may continue to run on the cluster indefinitely.',
    );
    await k.prints(
      `${create}; kubectl delete wg w1 --dry-run=server; kubectl get wg -o name`,
      `${deleted} (server dry run)`,
      W1,
    );
    const answer = JSON.parse(
      await k.out('kubectl delete --raw /apis/demo.example.com/v1/namespaces/$NS/widgets/w1'),
    ) as Record<string, unknown>;
    assert.deepEqual([answer.kind, answer.status], ['Status', 'Success']);
    await k.fails('kubectl delete wg w1', /widgets\.demo\.example\.com "w1" not found/);
    await k.prints('kubectl delete wg w1 --ignore-not-found');
    for (const what of [
      'wg -l app=demo',
      'wg --all',
      '-f $FILES/w1.yaml',
      'wg/w1',
      'wg --field-selector metadata.name=w1',
    ]) {
      await k.prints(`${create}; kubectl delete ${what}`, deleted);
    }
  },

  'delete: a finalizer holds an object, and kubectl waits no longer than asked': async (k) => {
    await make(k);
    await k.out(merge('{"metadata":{"finalizers":["a.b/c"]}}'));
    await k.fails('kubectl delete wg w1 --timeout=1s', /timed out waiting for the condition on widgets\/w1/);
    assert.match(await k.out('kubectl get wg w1 -o jsonpath={.metadata.deletionTimestamp}'), /^\d{4}-/);
    await k.fails(
      merge('{"metadata":{"finalizers":["a.b/c","d.e/f"]}}'),
      /no new finalizers can be added if the object is being deleted/,
    );
    await k.out(merge('{"metadata":{"finalizers":null}}'));
    await k.fails('kubectl get wg w1', /"w1" not found/);
  },

  'delete: dependents go with their owner, or stay without it': async (k) => {
    await make(k);
    const own = async (name: string) => {
      const uid = await k.out('kubectl get wg w1 -o jsonpath={.metadata.uid}');
      const owner = `{apiVersion: demo.example.com/v1, kind: Widget, name: w1, uid: ${uid}, blockOwnerDeletion: true}`;
      await k.file(
        'cm.yaml',
        `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  ownerReferences:\n  - ${owner}\n`,
      );
      await k.out('kubectl create -f cm.yaml');
    };
    await own('kept');
    await k.out('kubectl delete wg w1 --cascade=orphan');
    await k.prints('kubectl get cm kept -o jsonpath={.metadata.ownerReferences}');
    await make(k);
    await own('first');
    await k.out('kubectl delete wg w1 --cascade=foreground');
    await k.fails('kubectl get cm first', /"first" not found/);
    await make(k);
    await own('after');
    await k.out('kubectl delete wg w1 && kubectl wait --for=delete cm/after --timeout=20s');
    await k.prints('kubectl get cm -o name', 'configmap/kept');
  },

  'wait: for a value, a condition, an end and a beginning': async (k) => {
    await make(k);
    await k.prints('kubectl wait wg/w1 --for=jsonpath={.spec.size}=small', `${W1} condition met`);
    await k.prints('kubectl wait wg --all --for=jsonpath={.spec.size}', `${W1} condition met`);
    await k.fails(
      'kubectl wait wg/w1 --for=condition=Ready --timeout=1s',
      /timed out waiting for the condition on widgets\/w1/,
    );
    await k.fails('kubectl wait wg/none --for=condition=Ready', /"none" not found/);
    const begun = (command: string) => `(${command} -v=6 > wait.log 2>&1; echo "ended $?" >> wait.log) & WAIT=$!`;
    const shown = 'wait $WAIT; grep -E "condition met|ended" wait.log; rm wait.log';
    await k.prints(
      [
        begun('kubectl wait wg/w1 --for=condition=Ready --timeout=20s'),
        'seen "watch=true" wait.log',
        `kubectl patch wg w1 --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'`,
        shown,
      ].join('\n'),
      `${W1} patched`,
      `${W1} condition met`,
      'ended 0',
    );
    await k.prints(
      [
        begun('kubectl wait wg/w1 --for=delete --timeout=20s'),
        'seen "watch=true" wait.log',
        'kubectl delete wg w1',
        shown,
      ].join('\n'),
      'widget.demo.example.com "w1" deleted',
      `${W1} condition met`,
      'ended 0',
    );
    // kubectl 1.30 cannot wait for this yet.
    if (!(await k.out('kubectl wait --help')).includes('--for=create')) return;
    await k.prints(
      [
        begun('kubectl wait wg/w1 --for=create --timeout=20s'),
        'seen "404" wait.log',
        'kubectl create -f $FILES/w1.yaml',
        shown,
      ].join('\n'),
      `${W1} created`,
      `${W1} condition met`,
      'ended 0',
    );
  },
});
