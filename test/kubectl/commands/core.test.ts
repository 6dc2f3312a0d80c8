import assert from 'node:assert/strict';
import { describeCommands } from '../describe-commands.ts';

describeCommands("kubectl, with Kubernetes' own kinds", {
  'namespaces: made, read, described, and gone with all that is in them': async (k) => {
    await k.prints('kubectl create ns $NS-b', 'namespace/t-0-b created');
    await k.prints('kubectl create ns $NS-c --dry-run=server -o jsonpath={.status.phase}', 'Active');
    await k.prints(
      'kubectl get ns $NS-b --show-labels --no-headers',
      't-0-b  Active  <age>  kubernetes.io/metadata.name=t-0-b',
    );
    await k.prints(
      'kubectl describe ns $NS-b',
      'Name:  t-0-b',
      'Labels:  kubernetes.io/metadata.name=t-0-b',
      'Annotations:  <none>',
      'Status:  Active',
    );
    await k.out('kubectl create -n $NS-b -f $FILES/w1.yaml -f $FILES/full.yaml && kubectl create -n $NS-b cm c');
    await k.prints('kubectl delete ns $NS-b', 'namespace "t-0-b" deleted');
    await k.fails('kubectl get ns $NS-b', /namespaces "t-0-b" not found/);
    await k.prints('kubectl get wg,cm -n $NS-b', '! No resources found in t-0-b namespace.');
    await k.fails('kubectl create -n $NS-b cm d', /namespaces "t-0-b" not found/);
  },

  'config maps: from literals, files, bytes and an environment': async (k) => {
    await k.prints('kubectl create cm lit --from-literal=a=b --from-literal=c=d', 'configmap/lit created');
    await k.prints('kubectl get cm lit -o jsonpath={.data}', '{"a":"b","c":"d"}');
    await k.out(
      "printf 'x\\377y' > bytes.bin; echo text > a.txt; kubectl create cm files --from-file=bytes.bin --from-file=t=a.txt",
    );
    await k.prints("kubectl get cm files -o jsonpath='{.binaryData} {.data}'", '{"bytes.bin":"eP95"} {"t":"text\\n"}');
    await k.prints('kubectl get cm', 'NAME  DATA  AGE', 'files  2  <age>', 'lit  2  <age>');
    const described = await k.out('kubectl describe cm files');
    assert.match(
      described,
      /\nData\n====\nt:\n----\ntext\n+BinaryData\n====\nbytes\.bin: 3 bytes\n\nEvents: {2}<none>\n$/,
    );
    await k.out("printf 'A=1\\nB=2\\n' > e.env; kubectl create cm env --from-env-file=e.env");
    await k.prints(
      'kubectl create cm lit2 --from-literal=a=b --dry-run=client -o yaml | kubectl apply -f -',
      'configmap/lit2 created',
    );
  },

  'secrets: opaque, for a registry, for TLS; never shown by describe': async (k) => {
    await k.prints('kubectl create secret generic s --from-literal=pass=word', 'secret/s created');
    await k.prints(
      'kubectl create secret docker-registry reg --docker-server=r.example --docker-username=u --docker-password=p',
      'secret/reg created',
    );
    await k.out(
      'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -subj /CN=x -days 2 2> /dev/null',
    );
    await k.prints('kubectl create secret tls t --cert=c --key=k', 'secret/t created');
    await k.prints(
      'kubectl get secrets',
      'NAME  TYPE  DATA  AGE',
      'reg  kubernetes.io/dockerconfigjson  1  <age>',
      's  Opaque  1  <age>',
      't  kubernetes.io/tls  2  <age>',
    );
    const text = await k.out('kubectl get secret s -o yaml');
    assert.match(text, /^apiVersion: v1\ndata:\n {2}pass: d29yZA==\nkind: Secret\nmetadata:\n/);
    assert.match(text, /\ntype: Opaque\n$/);
    const described = await k.out('kubectl describe secret s');
    assert.match(described, /\nType: {2}Opaque\n\nData\n====\npass: {2}4 bytes\n$/);
    await k.fails('kubectl create secret tls t2 --cert=c --key=c', /private key|tls:/);
  },

  'service accounts: made, read, described, and a token': async (k) => {
    await k.prints('kubectl create sa robot', 'serviceaccount/robot created');
    await k.prints('kubectl get sa robot', 'NAME  SECRETS  AGE', 'robot  0  <age>');
    await k.prints(
      'kubectl describe sa robot',
      'Name:  robot',
      'Namespace:  t-3',
      'Labels:  <none>',
      'Annotations:  <none>',
      'Image pull secrets:  <none>',
      'Mountable secrets:  <none>',
      'Tokens:  <none>',
      'Events:  <none>',
    );
    const token = await k.out('kubectl create token robot --duration=20m --audience=a');
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >;
    assert.deepEqual([claims.sub, claims.aud], ['system:serviceaccount:t-3:robot', ['a']]);
    assert.equal(Number(claims.exp) - Number(claims.iat), 1200);
    await k.fails('kubectl create token nobody', /serviceaccounts "nobody" not found/);
  },

  'leases and VMs: tables and descriptions': async (k) => {
    await k.file(
      'lease.yaml',
      'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: l}\nspec: {holderIdentity: me}\n',
    );
    await k.prints('kubectl create -f lease.yaml', 'lease.coordination.k8s.io/l created');
    // The bare name is that of our own kind, which discovery has first.
    await k.prints('kubectl get leases.coordination.k8s.io', 'NAME  HOLDER  AGE', 'l  me  <age>');
    assert.match(
      await k.out('kubectl describe lease.coordination.k8s.io l'),
      /\nSpec:\n {2}Holder Identity: +me\nEvents: +<none>\n$/,
    );
    const tenant = 'apiVersion: coppice.dev/v1\nkind: Tenant\nmetadata: {name: red}\n';
    const vm = 'apiVersion: coppice.dev/v1\nkind: VM\nmetadata: {name: v, namespace: red}\nspec: {image: none}\n';
    await k.file('tenant.yaml', tenant);
    await k.out('kubectl create -f tenant.yaml && kubectl wait tenant/red --for=condition=Ready --timeout=20s');
    await k.file('vm.yaml', vm);
    await k.prints('kubectl create -f vm.yaml', 'vm.coppice.dev/v created');
    await k.out('kubectl wait vm/v -n red --for=jsonpath={.status.phase}=Pending --timeout=20s');
    assert.match(
      await k.out('kubectl get all -n red'),
      /^NAME +PHASE +READY +HOST +IMAGE +POOL +AGE\nvm\.coppice\.dev\/v +Pending +False +none +\S+\n$/,
    );
    assert.match(
      await k.out('kubectl describe vm v -n red'),
      /\n {4}Reason: +ImageNotFound\n {4}Status: +False\n {4}Type: +Scheduled\n/,
    );
    await k.prints('kubectl delete tenant red', 'tenant.coppice.dev "red" deleted');
  },
});
