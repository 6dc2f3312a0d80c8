import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';

const NO_PODS = /the server doesn't have a resource type "pods"/;

describeCommands('kubectl, about the server', {
  'version: names the Kubernetes version it speaks': async (k) => {
    assert.match(await k.out('kubectl version'), /^Server Version: v1\.\d+\.\d+\+coppice$/m);
    const { serverVersion } = JSON.parse(await k.out('kubectl version -o json')) as { serverVersion: object };
    const fields = ['major', 'minor', 'gitVersion', 'gitCommit', 'buildDate', 'goVersion', 'compiler', 'platform'];
    assert.deepEqual(
      fields.filter((field) => !Object.hasOwn(serverVersion, field)),
      [],
    );
  },

  'cluster-info: says where the control plane is': async (k) => {
    await k.prints(
      'kubectl cluster-info',
      'Kubernetes control plane is running at <server>',
      '',
      "To further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.",
    );
    await k.prints('kubectl get svc -A', '! No resources found');
    await k.fails(
      'kubectl create service clusterip a --tcp=80',
      /does not allow this method on the requested resource/,
    );
  },

  'api-resources: every kind with its short names, scope, verbs and categories': async (k) => {
    await k.prints(
      'kubectl api-resources -o wide --no-headers --api-group=demo.example.com',
      'gadgets  gd  demo.example.com/v1  false  Gadget  delete,deletecollection,get,list,patch,create,update,watch  demo',
      'widgets  wg  demo.example.com/v1  true  Widget  delete,deletecollection,get,list,patch,create,update,watch  demo',
    );
    const names = (await k.out('kubectl api-resources -o name --verbs=list,watch')).trim().split('\n');
    for (const name of ['configmaps', 'events', 'namespaces', 'secrets', 'serviceaccounts', 'services']) {
      assert.ok(names.includes(name), name);
    }
    for (const name of ['vms.coppice.dev', 'leases.coordination.k8s.io', 'events.events.k8s.io']) {
      assert.ok(names.includes(name), name);
    }
    await k.prints(
      'kubectl api-resources --categories=all -o name',
      'services',
      'vms.coppice.dev',
      'volumes.coppice.dev',
    );
  },

  'api-versions: every group and version': async (k) => {
    await k.prints(
      'kubectl api-versions',
      'apiextensions.k8s.io/v1',
      'authentication.k8s.io/v1',
      'authorization.k8s.io/v1',
      'coordination.k8s.io/v1',
      'coppice.dev/v1',
      'demo.example.com/v1',
      'events.k8s.io/v1',
      'v1',
    );
  },

  'explain: a field, the whole tree, and from OpenAPI v2': async (k) => {
    const field = await k.out('kubectl explain widget.spec.size');
    assert.match(
      field,
      /FIELD: size <string>\nENUM:\n {4}small\n {4}medium\n {4}large\n\nDESCRIPTION:\n {4}The size class\./,
    );
    const tree = await k.out('kubectl explain wg.spec --recursive');
    assert.match(
      tree,
      /^ {2}parts\t<\[\]Object>\n {4}count\t<integer>\n {4}name\t<string> -required-\n {4}note\t<string>$/m,
    );
    assert.match(await k.out('kubectl explain widget.metadata.labels'), /FIELD: labels <map\[string\]string>/);
    const old = await k.out('kubectl explain widget --output=plaintext-openapiv2');
    assert.match(old, /^KIND: {5}Widget\nVERSION: {2}demo\.example\.com\/v1\n/);
    assert.match(old, /spec\t<Object> -required-\n {5}What the widget should be\./);
    for (const kind of ['vm', 'cm', 'secret', 'sa', 'ns', 'event', 'leases', 'crd', 'svc']) {
      assert.match(await k.out(`kubectl explain ${kind}`), /DESCRIPTION:\n {4}\S/, kind);
    }
    await k.fails('kubectl explain widget.spec.nope', /field "nope" does not exist/);
  },

  'names of a kind: plural, singular, kind, short, with group and with version': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    const names = ['widgets', 'widget', 'Widget', 'wg', 'widgets.demo.example.com', 'widgets.v1.demo.example.com'];
    const gets = names.map((name) => `kubectl get ${name}/w1 -o name`).join('; ');
    await k.prints(gets, ...names.map(() => 'widget.demo.example.com/w1'));
    await k.exits(1, 'kubectl get nope', `! error: the server doesn't have a resource type "nope"`);
  },

  'categories: get all, get demo, get coppice': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    await k.prints('kubectl get all', '! No resources found in t-6 namespace.');
    await k.prints('kubectl get demo --no-headers', 'widget.demo.example.com/w1  small  1  <age>');
    assert.match(await k.out('kubectl get coppice -o name'), /^policy\.coppice\.dev\/default$/m);
  },

  'a kind that is defined, used, and gone again': async (k) => {
    const crd = await k.out(
      `sed 's/gadget/gizmo/g; s/Gadget/Gizmo/g; s/gd/gz/g; s/demo/demo2/g' $FILES/crds.yaml | awk '/^---/{on=1;next} on' > gizmos.yaml; cat gizmos.yaml`,
    );
    assert.match(crd, /name: gizmos\.demo2\.example\.com/);
    await k.out(
      'kubectl apply -f gizmos.yaml && kubectl wait crd/gizmos.demo2.example.com --for=condition=Established',
    );
    await k.file('g.yaml', 'apiVersion: demo2.example.com/v1\nkind: Gizmo\nmetadata: {name: g}\nspec: {text: a}\n');
    await k.prints('kubectl create -f g.yaml', 'gizmo.demo2.example.com/g created');
    await k.prints('kubectl get gz -o name', 'gizmo.demo2.example.com/g');
    await k.out('kubectl delete -f gizmos.yaml');
    // kubectl may go by its cache of discovery.
    const gone = /doesn't have a resource type "gz"|no matches for kind "Gizmo"|could not find the requested resource/;
    await k.fails('kubectl get gz', gone);
    await k.fails('kubectl create -f g.yaml', gone);
    await k.fails('kubectl explain gz', /couldn't find resource|doesn't have a resource type "gz"/);
  },

  'health: /readyz, /livez, /healthz, as text': async (k) => {
    await k.prints('for p in readyz livez healthz; do kubectl get --raw /$p; echo; done', 'ok', 'ok', 'ok');
    await k.prints(
      "kubectl get --raw '/readyz?verbose'",
      '[+]ping ok',
      '[+]store ok',
      '[+]store-room ok',
      'readyz check passed',
    );
  },

  'raw paths: documents, lists, and what is not there': async (k) => {
    const { paths } = JSON.parse(await k.out('kubectl get --raw /')) as { paths: string[] };
    assert.ok(paths.includes('/apis/demo.example.com/v1'));
    const { kind, items } = JSON.parse(
      await k.out('kubectl get --raw /apis/demo.example.com/v1/namespaces/$NS/widgets'),
    ) as { kind: string; items: unknown[] };
    assert.deepEqual([kind, items], ['WidgetList', []]);
    await k.exits(
      1,
      'kubectl get --raw /nope',
      '! Error from server (NotFound): the server could not find the requested resource',
    );
  },

  'completion: kinds, names and namespaces': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    const complete = async (words: string) => (await k.out(`kubectl __complete ${words} 2>/dev/null`)).split('\n');
    assert.deepEqual(await complete('get widgets ""'), ['w1', ':4', '']);
    assert.deepEqual(await complete('get widg'), ['widgets.demo.example.com', ':4', '']);
    assert.ok((await complete('get -n ""')).includes('coppice-system'));
  },

  'proxy: passes requests on': async (k) => {
    const answers = await k.out(
      [
        'kubectl proxy --port=0 > proxy.log & PROXY=$!; trap "kill $PROXY" EXIT',
        'seen "127.0.0.1:[0-9]+" proxy.log',
        'AT=http://$(grep -oE "127.0.0.1:[0-9]+" proxy.log)',
        'curl -sf $AT/readyz; echo',
        'curl -sf -H "Content-Type: application/yaml" --data-binary @$FILES/w1.yaml $AT/apis/demo.example.com/v1/namespaces/$NS/widgets > /dev/null',
        'curl -sf $AT/apis/demo.example.com/v1/namespaces/$NS/widgets/w1 | grep -o "\\"size\\":\\"small\\""',
      ].join('\n'),
    );
    assert.equal(answers, 'ok\n"size":"small"\n');
  },

  'what needs pods or nodes: kubectl says that there are none': async (k) => {
    await k.out('kubectl create -f $FILES/w1.yaml');
    await k.fails('kubectl logs w1', NO_PODS);
    await k.fails('kubectl exec w1 -- ls', NO_PODS);
    await k.fails('kubectl attach w1', NO_PODS);
    await k.fails('kubectl port-forward w1 80', NO_PODS);
    await k.fails('kubectl run a --image=b', /no matches for kind "Pod" in version "v1"/);
    await k.fails('kubectl rollout status wg/w1', /no kind "Widget" is registered/);
    await k.fails('kubectl expose wg w1 --port 80', /no kind "Widget" is registered/);
    await k.fails('kubectl cordon n', /doesn't have a resource type "nodes"/);
    await k.fails('kubectl top nodes', /Metrics API not available/);
  },
});
