import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';
import type { KubectlSession } from '../kubectl-world.ts';

/** The kubeconfig gets a context `robot`, in which kubectl is a service account of this namespace. */
const robot = (k: KubectlSession) =>
  k.out(
    [
      'kubectl create sa robot && kubectl config set-credentials robot --token=$(kubectl create token robot)',
      'kubectl config set-context robot --cluster=coppice --user=robot --namespace=$NS',
    ].join(' && '),
  );

describeCommands('kubectl, as somebody', {
  'auth whoami: the operator, and whom the operator stands in for': async (k) => {
    await k.prints(
      'kubectl auth whoami',
      'ATTRIBUTE  VALUE',
      'Username  operator',
      'Groups  [coppice:operators system:authenticated]',
    );
    await k.prints(
      'kubectl auth whoami --as=bob --as-group=devs --as-uid=7',
      'ATTRIBUTE  VALUE',
      'Username  bob',
      'UID  7',
      'Groups  [devs system:authenticated]',
    );
  },

  'auth can-i: yes and no, of resources, subresources, names and paths': async (k) => {
    await k.prints('kubectl auth can-i create widgets', 'yes');
    await k.prints('kubectl auth can-i update widgets --subresource=status', 'yes');
    await k.prints("kubectl auth can-i '*' '*'", 'yes');
    await k.prints('kubectl auth can-i get /healthz', 'yes');
    await k.exits(1, 'kubectl auth can-i create widgets --as=bob', 'no');
    await k.exits(1, 'kubectl auth can-i create widgets -q --as=bob');
    await k.exits(1, 'kubectl auth can-i get wg/w1 --as=system:serviceaccount:other:robot', 'no');
  },

  'auth can-i --list: every right, in words kubectl prints': async (k) => {
    assert.match(await k.out('kubectl auth can-i --list'), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
    await robot(k);
    const rights = await k.out('kubectl --context robot auth can-i --list');
    assert.match(rights, /^Resources +Non-Resource URLs +Resource Names +Verbs\n/);
    assert.match(rights, /^configmaps +\[\] +\[\] +\[get list watch create update patch delete\]$/m);
    assert.match(rights, /^namespaces +\[\] +\[t-2\] +\[get\]$/m);
    assert.doesNotMatch(rights, /^secrets/m);
  },

  'a service account’s token: its rights end at its namespace': async (k) => {
    await robot(k);
    const as = 'kubectl --context robot';
    assert.match(await k.out(`${as} auth whoami`), /^Username +system:serviceaccount:t-3:robot$/m);
    await k.prints(`${as} create -f $FILES/w1.yaml`, 'widget.demo.example.com/w1 created');
    await k.prints(`${as} get wg -o name`, 'widget.demo.example.com/w1');
    await k.fails(
      `${as} get secrets`,
      /secrets is forbidden: User "system:serviceaccount:t-3:robot" cannot list resource "secrets" in API group "" in the namespace "t-3"/,
    );
    await k.fails(
      `${as} get wg -A`,
      /cannot list resource "widgets" in API group "demo\.example\.com" at the cluster scope/,
    );
    await k.fails(`${as} get wg --as=bob`, /users "bob" is forbidden: .* cannot impersonate resource "users"/);
    await k.out('kubectl delete sa robot');
    await k.fails(`${as} get wg`, /You must be logged in to the server/);
  },

  'credentials: a token that is none is refused': async (k) => {
    await k.out(
      'kubectl config set-credentials nobody --token=wrong && kubectl config set-context nobody --cluster=coppice --user=nobody',
    );
    await k.fails('kubectl --context nobody get wg', /You must be logged in to the server/);
  },

  'contexts: several clusters in one kubeconfig': async (k) => {
    await robot(k);
    const names = await k.out('kubectl config get-contexts -o name');
    assert.deepEqual(names.trim().split('\n'), ['coppice', 'robot']);
    await k.out(
      'kubectl config set-cluster gone --server=https://127.0.0.1:1 && kubectl config set-context gone --cluster=gone --user=robot',
    );
    await k.fails('kubectl --context gone get wg', /refused/);
    await k.prints(
      'kubectl config use-context robot; kubectl config current-context',
      'Switched to context "robot".',
      'robot',
    );
    await k.prints('kubectl get ns $NS -o name', 'namespace/t-5');
    await k.prints('kubectl --context coppice get ns default -o name', 'namespace/default');
    await k.prints('kubectl config use-context coppice', 'Switched to context "coppice".');
    await k.fails(
      'kubectl config set-cluster coppice --certificate-authority=/dev/null --embed-certs=true > /dev/null; kubectl get wg',
      /certificate/,
    );
  },

  'the server’s certificate: checked, under another name or not at all': async (k) => {
    const set = 'kubectl config set-cluster';
    await k.out(`sed -n 's/.*certificate-authority-data: //p' $KUBECONFIG | base64 -d > ca.pem`);
    await k.out(
      `${set} named --server=$URL --tls-server-name=localhost --certificate-authority=ca.pem --embed-certs=true`,
    );
    await k.prints('kubectl --cluster named get ns default -o name', 'namespace/default');
    await k.prints('kubectl --cluster named --tls-server-name=localhost get ns default -o name', 'namespace/default');
    await k.fails('kubectl --tls-server-name=elsewhere get ns', /certificate is valid for/);
    await k.out(`${set} trusting --server=$URL --insecure-skip-tls-verify=true`);
    await k.prints('kubectl --cluster trusting get ns default -o name', 'namespace/default');
    await k.prints('kubectl --request-timeout=20s get ns default -o name', 'namespace/default');
  },
});
