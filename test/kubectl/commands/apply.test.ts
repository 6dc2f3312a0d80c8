import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';

const PAIR = ['p1', 'p2'].map(
  (name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {set: x}}\ndata: {a: b}\n`,
);
const SIMPLE =
  'apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {name: w1}\nspec: {size: small, replicas: 2}\n';
const managers = "kubectl get wg w1 -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation};{end}'";

describeCommands('kubectl, to apply', {
  'apply: created, unchanged, configured, and what is no longer said is gone': async (k) => {
    await k.file('w.yaml', SIMPLE);
    await k.prints('kubectl apply -f w.yaml', 'widget.demo.example.com/w1 created');
    const revision = 'kubectl get wg w1 -o jsonpath={.metadata.resourceVersion}';
    const before = await k.out(revision);
    await k.prints('kubectl apply -f w.yaml', 'widget.demo.example.com/w1 unchanged');
    assert.equal(await k.out(revision), before);
    await k.file('w.yaml', SIMPLE.replace(', replicas: 2', ', color: red'));
    await k.prints('kubectl apply -f w.yaml', 'widget.demo.example.com/w1 configured');
    await k.prints(`kubectl get wg w1 -o jsonpath='{.spec.color} {.spec.replicas}'`, 'red 1');
    assert.match(await k.out('kubectl apply view-last-applied wg w1'), /\nspec:\n {2}color: red\n {2}size: small\n/);
    await k.prints('kubectl apply set-last-applied -f w.yaml', 'widget.demo.example.com/w1 configured');
  },

  'apply: kinds of Kubernetes itself, by strategic merge': async (k) => {
    await k.file('cm.yaml', PAIR.join('---\n'));
    await k.prints('kubectl apply -f cm.yaml', 'configmap/p1 created', 'configmap/p2 created');
    await k.prints('kubectl apply -f cm.yaml', 'configmap/p1 unchanged', 'configmap/p2 unchanged');
    await k.file('cm.yaml', PAIR.join('---\n').replace('{a: b}', '{c: d}'));
    await k.prints('kubectl apply -f cm.yaml', 'configmap/p1 configured', 'configmap/p2 unchanged');
    await k.prints('kubectl get cm p1 -o jsonpath={.data}', '{"c":"d"}');
  },

  'apply: a manifest of kind List, a folder, and standard input': async (k) => {
    await k.out("sed 's/name: g1/name: g-'$NS'/' $FILES/list.yaml > list.yaml");
    const [l1, l2, g] = ['widget.demo.example.com/l1', 'widget.demo.example.com/l2', 'gadget.demo.example.com/g-t-2'];
    await k.prints('kubectl apply -f list.yaml', `${l1} created`, `${l2} created`, `${g} created`);
    await k.prints('kubectl apply -f - < list.yaml', `${l1} unchanged`, `${l2} unchanged`, `${g} unchanged`);
    await k.prints(
      'mkdir d; mv list.yaml d; kubectl apply -f d',
      `${l1} unchanged`,
      `${l2} unchanged`,
      `${g} unchanged`,
    );
    await k.prints(
      'kubectl delete -f d | sort',
      `gadget.demo.example.com "g-t-2" deleted`,
      `widget.demo.example.com "l1" deleted`,
      `widget.demo.example.com "l2" deleted`,
    );
  },

  'apply --dry-run: tried by the server, and not done': async (k) => {
    await k.file('w.yaml', SIMPLE);
    await k.prints('kubectl apply -f w.yaml --dry-run=server', 'widget.demo.example.com/w1 created (server dry run)');
    await k.prints('kubectl apply -f w.yaml --dry-run=client', 'widget.demo.example.com/w1 created (dry run)');
    await k.prints('kubectl get wg', '! No resources found in t-3 namespace.');
    await k.fails('kubectl apply --dry-run=server -f $FILES/bad-enum.yaml', /is invalid/);
  },

  'validation: unknown and duplicate fields are refused, warned of or let pass': async (k) => {
    await k.exits(
      1,
      'kubectl create -f $FILES/bad-unknown.yaml 2>&1 | sed "s,\\"/.*/,\\","; exit $PIPESTATUS',
      'Error from server (BadRequest): error when creating "bad-unknown.yaml": Widget in version "v1" cannot be handled as a Widget: ' +
        'strict decoding error: unknown field "spec.bogus", unknown field "spec.parts[0].nope"',
    );
    const made = 'widget.demo.example.com/bad-unknown created (server dry run)';
    const tried = 'kubectl create --dry-run=server -f $FILES/bad-unknown.yaml';
    const warnings = ['spec.bogus', 'spec.parts[0].nope'].map((field) => `! Warning: unknown field "${field}"`);
    await k.prints(`${tried} --validate=warn`, made, ...warnings);
    await k.prints(`${tried} --validate=ignore`, made);
    await k.fails('kubectl create -f $FILES/bad-many.yaml', /The Widget "bad-many" is invalid: ?\n(\* \S+: .*\n){2,}/);
    await k.fails('kubectl apply -f $FILES/nokind.yaml', /kind/i);
    await k.file('nope.yaml', 'apiVersion: demo.example.com/v1\nkind: Nope\nmetadata: {name: a}\n');
    await k.fails(
      'kubectl apply -f nope.yaml',
      /no matches for kind "Nope" in version "demo.example.com\/v1"\nensure CRDs are installed first/,
    );
    await k.fails('kubectl apply -f $FILES/w1.yaml -n nowhere', /namespaces "nowhere" not found/);
  },

  'apply --server-side: a conflict is told, and can be forced': async (k) => {
    await k.file('w.yaml', SIMPLE);
    await k.prints('kubectl apply --server-side -f w.yaml', 'widget.demo.example.com/w1 serverside-applied');
    await k.prints('kubectl apply --server-side -f w.yaml', 'widget.demo.example.com/w1 serverside-applied');
    await k.file('w.yaml', SIMPLE.replace('small', 'large').replace('2', '3'));
    const other = 'kubectl apply --server-side -f w.yaml --field-manager=other';
    await k.fails(
      other,
      /^error: Apply failed with 2 conflicts: conflicts with "kubectl":\n- \.spec\.replicas\n- \.spec\.size\nPlease review the fields above/,
    );
    await k.prints(`${other} --force-conflicts`, 'widget.demo.example.com/w1 serverside-applied');
    assert.equal(await k.out(managers), 'other Apply;');
    await k.prints(`kubectl get wg w1 -o jsonpath='{.spec.size} {.spec.replicas}'`, 'large 3');
  },

  'apply --server-side: takes over what was applied client-side': async (k) => {
    await k.file('w.yaml', SIMPLE);
    await k.out('kubectl apply -f w.yaml');
    assert.equal(await k.out(managers), 'kubectl-client-side-apply Update;');
    await k.prints('kubectl apply --server-side -f w.yaml', 'widget.demo.example.com/w1 serverside-applied');
    const names = (await k.out(managers)).split(';').filter((entry) => entry !== '');
    assert.deepEqual(names.sort(), ['kubectl Apply', 'kubectl-last-applied Apply']);
    await k.file('w.yaml', SIMPLE.replace(', replicas: 2', ''));
    await k.out('kubectl apply --server-side -f w.yaml');
    await k.prints('kubectl get wg w1 -o jsonpath={.spec.replicas}', '1');
  },

  'apply --prune with an ApplySet: what the set no longer has is pruned': async (k) => {
    await k.file('all.yaml', [...PAIR, SIMPLE].join('---\n'));
    await k.file('one.yaml', PAIR[0] ?? '');
    const apply = 'export KUBECTL_APPLYSET=true; kubectl apply -n $NS --prune --applyset=set1 -f';
    await k.prints(
      `${apply} all.yaml`,
      'configmap/p1 created',
      'configmap/p2 created',
      'widget.demo.example.com/w1 created',
    );
    assert.match(await k.out('kubectl get secret set1 --show-labels'), /applyset\.kubernetes\.io\/id=applyset-/);
    await k.prints(
      // It prunes the resources of a set side by side.
      `${apply} one.yaml | sort`,
      'configmap/p1 unchanged',
      'configmap/p2 pruned',
      'widget.demo.example.com/w1 pruned',
    );
    await k.prints('kubectl get wg,cm -o name', 'configmap/p1');
    const other = apply.replace('set1', 'configmap/set2');
    await k.file('widget.yaml', SIMPLE);
    await k.prints(`${other} widget.yaml`, 'widget.demo.example.com/w1 created');
    await k.file('widget.yaml', SIMPLE.replace('w1', 'w2'));
    await k.prints(`${other} widget.yaml`, 'widget.demo.example.com/w2 created', 'widget.demo.example.com/w1 pruned');
  },

  'apply --prune -l: what is labelled and no longer said is pruned, of the kinds that are allowed': async (k) => {
    const apply = 'kubectl apply --prune -l set=x --prune-allowlist=core/v1/ConfigMap -f';
    await k.file('all.yaml', PAIR.join('---\n'));
    await k.file('one.yaml', PAIR[0] ?? '');
    await k.prints(`${apply} all.yaml`, 'configmap/p1 created', 'configmap/p2 created');
    await k.prints(`${apply} one.yaml`, 'configmap/p1 unchanged', 'configmap/p2 pruned');
  },

  'diff: 0 when nothing differs, 1 and the difference else': async (k) => {
    await k.file('w.yaml', SIMPLE);
    await k.exits(1, 'kubectl diff -f w.yaml | grep -E "^.  size"; exit $PIPESTATUS', '+  size: small');
    await k.out('kubectl apply -f w.yaml');
    await k.prints('kubectl diff -f w.yaml');
    await k.file('w.yaml', SIMPLE.replace('small', 'large'));
    const size = ['-  size: small', '+  size: large'];
    await k.exits(1, 'kubectl diff -f w.yaml | grep -E "^.  size"; exit $PIPESTATUS', ...size);
    await k.exits(
      1,
      'kubectl diff --server-side --force-conflicts -f w.yaml | grep -E "^.  size"; exit $PIPESTATUS',
      ...size,
    );
    await k.prints('kubectl get wg w1 -o jsonpath={.spec.size}', 'small');
    await k.file('cm.yaml', PAIR[0] ?? '');
    await k.out('kubectl apply -f cm.yaml');
    await k.prints('kubectl diff -f cm.yaml');
  },

  '-k: a kustomization is applied, compared, read and deleted': async (k) => {
    await k.file('w.yaml', SIMPLE);
    await k.file(
      'kustomization.yaml',
      'namePrefix: x-\nresources: [w.yaml]\nconfigMapGenerator: [{name: g, literals: [a=b]}]\n',
    );
    await k.prints('kubectl apply -k .', 'configmap/x-g-4h2mbtbbt6 created', 'widget.demo.example.com/x-w1 created');
    await k.prints('kubectl diff -k .');
    await k.prints('kubectl get -k . -o name', 'configmap/x-g-4h2mbtbbt6', 'widget.demo.example.com/x-w1');
    await k.prints(
      'kubectl delete -k .',
      'configmap "x-g-4h2mbtbbt6" deleted',
      'widget.demo.example.com "x-w1" deleted',
    );
  },
});
