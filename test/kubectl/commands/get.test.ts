import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';
import type { KubectlSession } from '../kubectl-world.ts';

const three = (k: KubectlSession) =>
  k.out('for i in 1 2 3; do sed s/w1/w$i/ $FILES/w1.yaml; echo ---; done | kubectl create -f -');
const status = (name: string, text: string) =>
  `kubectl patch wg ${name} --subresource=status --type=merge -p '{"status":${text}}'`;

describeCommands('kubectl, to read', {
  'get: the table, wide, with labels, without headers': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    await k.out(status('w1', '{"phase":"Up"}'));
    await k.prints('kubectl get wg', 'NAME  SIZE  REPLICAS  PHASE  AGE', 'w1  small  1  Up  <age>');
    await k.out(`kubectl patch wg w1 --type=merge -p '{"spec":{"owner":{"name":"ann"}}}'`);
    await k.prints('kubectl get wg -o wide --no-headers', 'w1  small  1  Up  ann  <age>');
    await k.prints(
      'kubectl get wg w1 --show-labels',
      'NAME  SIZE  REPLICAS  PHASE  AGE  LABELS',
      'w1  small  1  Up  <age>  app=demo,tier=front',
    );
    await k.prints('kubectl get wg -L app,tier --no-headers', 'w1  small  1  Up  <age>  demo  front');
    await k.prints('kubectl get wg --show-kind --no-headers', 'widget.demo.example.com/w1  small  1  Up  <age>');
    await k.prints('kubectl get wg --server-print=false', 'NAME  AGE', 'w1  <age>');
  },

  'get: yaml, json, name, jsonpath, custom columns, templates': async (k) => {
    await three(k);
    const one = JSON.parse(await k.out('kubectl get wg w1 -o json')) as Record<string, unknown>;
    assert.deepEqual([one.apiVersion, one.kind], ['demo.example.com/v1', 'Widget']);
    const list = JSON.parse(await k.out('kubectl get wg -o json')) as { kind: string; items: unknown[] };
    assert.deepEqual([list.kind, list.items.length], ['List', 3]);
    assert.match(
      await k.out('kubectl get wg w1 -o yaml'),
      /^apiVersion: demo.example.com\/v1\nkind: Widget\nmetadata:\n/,
    );
    assert.doesNotMatch(await k.out('kubectl get wg w1 -o yaml'), /managedFields/);
    assert.match(await k.out('kubectl get wg w1 -o yaml --show-managed-fields'), /manager: kubectl-create/);
    await k.prints('kubectl get wg w2 w3 -o name', 'widget.demo.example.com/w2', 'widget.demo.example.com/w3');
    await k.prints(
      `kubectl get wg -o jsonpath='{range .items[*]}{.metadata.name}={.spec.size};{end}'`,
      'w1=small;w2=small;w3=small;',
    );
    await k.prints(
      'kubectl get wg -o custom-columns=N:.metadata.name,C:.spec.color',
      'N  C',
      'w1  grey',
      'w2  grey',
      'w3  grey',
    );
    await k.prints(`kubectl get wg w1 -o go-template='{{.spec.replicas}}'`, '1');
    assert.equal(await k.out('kubectl get wg w1 -o yaml > w.yaml; kubectl get -f w.yaml -o yaml | diff - w.yaml'), '');
  },

  'get: all namespaces, several kinds, several names': async (k) => {
    await three(k);
    await k.out('kubectl create cm c --from-literal=a=b');
    assert.match(await k.out('kubectl get wg -A'), /^NAMESPACE +NAME +SIZE .*\n(.*\n)*t-2 +w3 +small /);
    await k.prints(
      'kubectl get wg,cm --no-headers',
      'widget.demo.example.com/w1  small  1  <age>',
      'widget.demo.example.com/w2  small  1  <age>',
      'widget.demo.example.com/w3  small  1  <age>',
      'configmap/c  1  <age>',
    );
    await k.exits(
      1,
      'kubectl get wg w1 none --no-headers',
      'w1  small  1  <age>',
      '! Error from server (NotFound): widgets.demo.example.com "none" not found',
    );
    await k.prints('kubectl get wg none --ignore-not-found');
  },

  'get: by labels and by fields': async (k) => {
    await three(k);
    await k.out('kubectl label wg w1 tier=back --overwrite; kubectl label wg w2 tier-');
    const names = async (selection: string) =>
      (await k.out(`kubectl get wg -o jsonpath='{.items[*].metadata.name}' ${selection}`)).trim();
    assert.equal(await names('-l tier=front'), 'w3');
    assert.equal(await names("-l 'tier!=front'"), 'w1 w2');
    assert.equal(await names("-l '!tier'"), 'w2');
    assert.equal(await names("-l 'app,tier in (front, back)'"), 'w1 w3');
    assert.equal(await names("-l 'tier notin (front)'"), 'w1 w2');
    assert.equal(await names('--field-selector metadata.name=w2'), 'w2');
    assert.equal(await names('--field-selector metadata.name!=w2'), 'w1 w3');
    await k.fails('kubectl get wg --field-selector spec.nope=1', /field label not supported: spec\.nope/);
    await k.fails("kubectl get wg -l 'a=b=c'", /unable to parse requirement|found '='/);
    await k.prints('kubectl get wg -l app=none', '! No resources found in t-3 namespace.');
  },

  'get --sort-by: by what the table does not show': async (k) => {
    await three(k);
    const sizes = ['w1 7', 'w2 3', 'w3 5'];
    for (const [name, serial] of sizes.map((each) => each.split(' '))) {
      await k.out(`kubectl patch wg ${name} --type=merge -p '{"spec":{"serial":${serial}}}'`);
    }
    const rows = ['w2', 'w3', 'w1'].map((name) => `${name}  small  1  <age>`);
    await k.prints('kubectl get wg --sort-by=.spec.serial --no-headers', ...rows);
  },

  'get --chunk-size: pages of one snapshot while others write': async (k) => {
    await k.out('for i in 1 2 3 4 5 6; do sed s/w1/w$i/ $FILES/w1.yaml; echo ---; done | kubectl create -f -');
    const read = await k.out(
      [
        '(for i in 1 2 3 4; do kubectl label wg --all n=$i --overwrite; done) > writer.log & WRITER=$!',
        'seen labeled writer.log',
        'for i in 1 2 3; do kubectl get wg --chunk-size=1 -o name; done',
        'wait $WRITER',
      ].join('\n'),
    );
    const names = [1, 2, 3, 4, 5, 6].map((i) => `widget.demo.example.com/w${i}\n`).join('');
    assert.equal(read, names.repeat(3));
    await k.prints('kubectl get wg --chunk-size=0 -o name | wc -l', '6');
    const asked = `kubectl get wg --chunk-size=4 -o name -v=8 2>&1 | grep -oE 'https:[^" ]+limit=4' | sort -u`;
    assert.match(await k.out(asked), /^\S+widgets\?continue=\S+limit=4\n\S+widgets\?limit=4\n$/);
  },

  'get --subresource: status and scale': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    await k.out(status('w1', '{"phase":"Up","replicas":1,"selector":"a=b"}'));
    await k.prints('kubectl get wg w1 --subresource=scale', 'NAME  DESIRED  AVAILABLE  AGE', 'w1  1  1  <age>');
    const scale = JSON.parse(await k.out('kubectl get wg w1 --subresource=scale -o json')) as Record<string, unknown>;
    assert.deepEqual(
      [scale.apiVersion, scale.kind, scale.status],
      ['autoscaling/v1', 'Scale', { replicas: 1, selector: 'a=b' }],
    );
    await k.prints('kubectl get wg w1 --subresource=status -o jsonpath={.status.phase}', 'Up');
  },

  'get -w: what is there, then each change as it is made': async (k) => {
    await three(k);
    await k.prints(
      [
        'kubectl get wg -w --no-headers > seen.log & WATCH=$!; trap "kill $WATCH" EXIT',
        'seen w3 seen.log',
        status('w2', '{"phase":"Busy"}'),
        'seen Busy seen.log',
        'kubectl delete wg w1',
        'until [ $(grep -c w1 seen.log) = 2 ]; do sleep 0.05; done; cat seen.log',
      ].join('\n'),
      'widget.demo.example.com/w2 patched',
      'widget.demo.example.com "w1" deleted',
      'w1  small  1  <age>',
      'w2  small  1  <age>',
      'w3  small  1  <age>',
      'w2  small  1  Busy  <age>',
      'w1  small  1  <age>',
    );
  },

  'get NAME -w and --watch-only: one object, and changes alone': async (k) => {
    await three(k);
    await k.prints(
      [
        'kubectl get wg w2 -w --no-headers > one.log & ONE=$!',
        'kubectl get wg --watch-only --output-watch-events --no-headers > only.log & ONLY=$!; trap "kill $ONE $ONLY" EXIT',
        'seen w2 one.log',
        // That both watches are open shows in their telling of a change.
        'n=0; until grep -q w3 only.log && grep -q Busy one.log; do n=$((n+1));',
        `kubectl patch wg w2 --subresource=status --type=merge -p '{"status":{"phase":"Busy","replicas":'$n'}}' > /dev/null`,
        'kubectl label wg w3 n=$n --overwrite > /dev/null; done',
        'grep -c w3 one.log',
        'grep -m1 Busy one.log; grep -m1 w3 only.log',
      ].join('\n'),
      '0',
      'w2  small  1  Busy  <age>',
      'MODIFIED  w3  small  1  <age>',
    );
  },

  'describe: an object with its events': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    const uid = await k.out('kubectl get wg w1 -o jsonpath={.metadata.uid}');
    await k.file(
      'event.yaml',
      [
        'apiVersion: v1',
        'kind: Event',
        'metadata: {name: e1}',
        'type: Warning',
        'reason: Broke',
        'message: it broke',
        'count: 3',
        'source: {component: checker}',
        'firstTimestamp: 2026-01-01T00:00:00Z',
        'lastTimestamp: 2026-01-01T00:10:00Z',
        `involvedObject: {kind: Widget, name: w1, namespace: t-9, uid: ${uid}, apiVersion: demo.example.com/v1}`,
      ].join('\n'),
    );
    await k.out('kubectl create -f event.yaml');
    const text = await k.out('kubectl describe wg w1');
    assert.match(text, /^Name: {9}w1\nNamespace: {4}t-9\nLabels: {7}app=demo\n {14}tier=front\n/);
    assert.match(text, /\nSpec:\n {2}Color: +grey\n/);
    assert.match(
      text,
      /\nEvents:\n {2}Type +Reason +Age +From +Message\n.*\n {2}Warning +Broke +\S+ \(x3 over \S+\) +checker +it broke\n$/,
    );
    await k.fails('kubectl describe wg none', /widgets\.demo\.example\.com "none" not found/);
    assert.match(await k.out('kubectl describe wg'), /^Name: +w1\n/);
  },

  'events: by object, by type, followed, in both groups': async (k) => {
    const event = (name: string, type: string, object: string) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name },
        type,
        reason: `R${name}`,
        message: `m ${name}`,
        count: 1,
        source: { component: 'c', host: 'h' },
        firstTimestamp: `${new Date().toISOString().slice(0, 19)}Z`,
        lastTimestamp: `${new Date().toISOString().slice(0, 19)}Z`,
        involvedObject: { kind: 'Widget', name: object, namespace: 't-10', apiVersion: 'demo.example.com/v1' },
      });
    await k.file('events.json', [event('e1', 'Normal', 'w1'), event('e2', 'Warning', 'w2')].join('\n'));
    await k.out('kubectl create -f events.json');
    await k.prints(
      'kubectl events',
      'LAST SEEN  TYPE  REASON  OBJECT  MESSAGE',
      '<age>  Normal  Re1  Widget/w1  m e1',
      '<age>  Warning  Re2  Widget/w2  m e2',
    );
    await k.prints('kubectl events --for widget/w2 --no-headers', '<age>  Warning  Re2  Widget/w2  m e2');
    await k.prints('kubectl events --types=Normal --no-headers', '<age>  Normal  Re1  Widget/w1  m e1');
    const ours = [
      'LAST SEEN  TYPE  REASON  OBJECT  MESSAGE',
      '<age>  Normal  Re1  widget/w1  m e1',
      '<age>  Warning  Re2  widget/w2  m e2',
    ];
    await k.prints('kubectl get events', ...ours);
    await k.prints('kubectl get events.events.k8s.io', ...ours);
    const warning = '! Warning: short name "ev" could also match lower priority resource events.events.k8s.io';
    await k.prints('kubectl get ev', ...ours, warning);
    await k.prints(
      'kubectl get events -o wide --field-selector involvedObject.name=w2,type=Warning',
      'LAST SEEN  TYPE  REASON  OBJECT  SUBOBJECT  SOURCE  MESSAGE  FIRST SEEN  COUNT  NAME',
      '<age>  Warning  Re2  widget/w2  c, h  m e2  <age>  1  e2',
    );
    await k.out(
      [
        'kubectl events -w > seen.log & WATCH=$!; trap "kill $WATCH" EXIT',
        'seen Re2 seen.log',
        "sed 's/e2/e3/g' events.json | kubectl create -f - 2> /dev/null",
        'seen Re3 seen.log',
        'true',
      ].join('\n'),
    );
  },
});
