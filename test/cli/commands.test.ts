import assert from 'node:assert/strict';
import { splitAtDashes, verbFirst } from '../../cli/argv.ts';
import { FakeApi } from '../harness/fake-api.ts';
import { CliFolder } from '../harness/run-cli.ts';

const aVM = (name: string, status: object = {}, labels: Record<string, string> = {}) => ({
  metadata: { name, namespace: 'demo', labels },
  spec: { image: 'tiny' },
  status,
});
const manifest = (name: string, spec: string) =>
  `apiVersion: coppice.dev/v1\nkind: VM\nmetadata: {name: ${name}}\nspec: ${spec}\n`;

describe('a command line', () => {
  const table: [string, string][] = [
    ['get vms', 'get vms'],
    ['-n demo get vms', 'get vms -n demo'],
    ['-ndemo --context=x -A get vms', 'get vms -ndemo --context=x -A'],
    ['--kubeconfig f images build x', 'images build x --kubeconfig f'],
    ['help get', 'get --help'],
    ['help', '--help'],
    ['get -h', 'get --help'],
    ['-n demo exec x -- -n -h get', 'exec x -n demo -- -n -h get'],
    ['-n demo', '-n demo'],
    ['', ''],
  ];
  for (const [given, meant] of table) {
    it(`"${given}" means "${meant}"`, () => assert.equal(verbFirst(given.split(' ').filter(Boolean)).join(' '), meant));
  }

  it('is cut at the first --', () => {
    assert.deepEqual(splitAtDashes(['a', '--', 'b', '--', 'c']), { ours: ['a'], command: ['b', '--', 'c'] });
    assert.deepEqual(splitAtDashes(['a']), { ours: ['a'], command: undefined });
  });
});

describe('the CLI', () => {
  let api: FakeApi;
  let folder: CliFolder;
  beforeEach(async () => {
    api = await FakeApi.start();
    folder = await CliFolder.make(api);
    api.put('vms', aVM('a', { phase: 'Running', host: 'mac-1' }, { app: 'x' }));
    api.put('vms', { ...aVM('b'), metadata: { name: 'b', namespace: 'other' } });
  });
  afterEach(async () => {
    await api[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  describe('get', () => {
    it('refuses a form of output that it has not, and says who has', async () => {
      const { code, stderr } = await folder.run(['get', 'vms', '-o', 'jsonpath={.items[0]}']);
      assert.equal(code, 1);
      assert.equal(
        stderr,
        'error: --output may be table, wide, json, yaml, name, and not jsonpath={.items[0]}\nhint: kubectl get has -o jsonpath; what -o json prints is for jq and the like\n',
      );
      assert.equal(
        (await folder.run(['get', 'vms', '-o', 'xml'])).stderr,
        'error: --output may be table, wide, json, yaml, name, and not xml\nhint: add --help to see how the command is used\n',
      );
    });

    it('prints a table on a terminal and JSON into a pipe', async () => {
      const table = await folder.run(['get', 'vms'], { tty: true });
      assert.equal(table.stdout, 'NAME   PHASE     AGE\na      Running   5m\n');
      const piped = JSON.parse((await folder.run(['get', 'vms'])).stdout);
      assert.equal(piped.kind, 'List');
      assert.deepEqual(
        piped.items.map((item: { metadata: { name: string } }) => item.metadata.name),
        ['a'],
      );
    });

    it('takes flags anywhere, and short ones stacked', async () => {
      const wide =
        'NAMESPACE   NAME   PHASE     HOST    AGE\ndemo        a      Running   mac-1   5m\nother       b                        5m\n';
      for (const argv of [
        'get vms -A -o wide',
        '-A get -o wide vms',
        'get -Aowide vms',
        '--output=wide get vms --all-namespaces',
      ])
        assert.equal((await folder.run(argv.split(' '))).stdout, wide, argv);
    });

    it('prints one object as itself, and several as a list', async () => {
      assert.equal(JSON.parse((await folder.run(['get', 'vm', 'a'])).stdout).kind, 'VM');
      assert.equal(JSON.parse((await folder.run(['get', 'vm', 'a', 'a'])).stdout).items.length, 2);
      assert.match(
        (await folder.run(['get', 'vm/a', '-o', 'yaml'])).stdout,
        /^apiVersion: coppice\.dev\/v1\nkind: VM\n/,
      );
      assert.equal((await folder.run(['get', 'vm,ns', '-o', 'name'])).stdout, 'vm.coppice.dev/a\n');
    });

    it('keeps names in the order they were given, also when one is the value of a flag', async () => {
      api.put('vms', aVM('z'));
      const { stdout } = await folder.run(['get', '-n', 'demo', 'vm', 'z', 'a', '-o', 'name']);
      assert.equal(stdout, 'vm.coppice.dev/z\nvm.coppice.dev/a\n');
    });

    it('passes selectors on', async () => {
      await folder.run(['get', 'vms', '-l', 'app=x', '--field-selector', 'status.phase=Running']);
      const asked = new URL(api.requests.at(-1)?.url ?? '', 'https://x').searchParams;
      assert.equal(asked.get('labelSelector'), 'app=x');
      assert.equal(asked.get('fieldSelector'), 'status.phase=Running');
    });

    it('says on stderr that there is nothing, and does not fail', async () => {
      const none = await folder.run(['get', 'hosts', '-o', 'table']);
      assert.deepEqual(none, { code: 0, stdout: '', stderr: 'No resources found\n' });
      const here = await folder.run(['get', 'vms', '-n', 'empty', '-o', 'table']);
      assert.equal(here.stderr, 'No resources found in empty namespace.\n');
    });

    it('prints what it finds and fails for what it does not', async () => {
      const { code, stdout, stderr } = await folder.run(['get', 'vm', 'a', 'nope', '-o', 'name']);
      assert.deepEqual([code, stdout], [1, 'vm.coppice.dev/a\n']);
      assert.match(stderr, /^error: vms\.coppice\.dev "nope" not found/);
      assert.equal((await folder.run(['get', 'vm', 'nope', '--ignore-not-found'])).code, 0);
    });

    it('goes on with -w, each change a line under the same columns', async () => {
      const stop = new AbortController();
      const onStdout = (soFar: string) => {
        if (soFar.split('\n').length === 3) api.put('vms', aVM('a', { phase: 'Stopped' }));
        if (soFar.includes('Stopped')) stop.abort(new DOMException('interrupted', 'AbortError'));
      };
      const { code, stdout } = await folder.run(['get', 'vms', '-w'], { tty: true, signal: stop.signal, onStdout });
      assert.equal(stdout, 'NAME   PHASE     AGE\na      Running   5m\na      Stopped   5m\n');
      assert.equal(code, 130);
    });
  });

  describe('describe', () => {
    it('shows the object and its events', async () => {
      const event = {
        involvedObject: { name: 'a' },
        type: 'Normal',
        reason: 'Started',
        message: 'it began',
        lastTimestamp: '2026-01-01T00:00:00Z',
      };
      api.put('events', { metadata: { name: 'e', namespace: 'demo' }, ...event });
      const { stdout } = await folder.run(['describe', 'vm', 'a']);
      assert.match(stdout, /^Name: +a\n/);
      assert.match(stdout, /Host: +mac-1/);
      assert.match(stdout, /Normal +Started .* it began/);
    });
  });

  describe('apply', () => {
    it('creates, changes, and leaves alone what is as it should be', async () => {
      const apply = (spec: string) => folder.run(['apply', '-f', '-'], { stdin: manifest('new', spec) });
      assert.equal((await apply('{a: 1, b: 2}')).stdout, 'vm.coppice.dev/new created\n');
      assert.equal((await apply('{a: 1, b: 2}')).stdout, 'vm.coppice.dev/new unchanged\n');
      assert.equal((await apply('{a: 3}')).stdout, 'vm.coppice.dev/new configured\n');
      assert.deepEqual(api.get('vms', 'new', 'demo')?.spec, { a: 3 });
      const patch = api.requests.findLast((request) => request.method === 'PATCH');
      assert.match(patch?.url ?? '', /fieldManager=coppice&fieldValidation=Strict$/);
    });

    it('reads a folder by name, a kustomization in its order, and -k inside -k', async () => {
      await folder.write('d/2.yaml', manifest('two', '{}'));
      await folder.write(
        'd/1.json',
        JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'one' } }),
      );
      await folder.write('d/notes.txt', 'not a manifest');
      assert.equal(
        (await folder.run(['apply', '-f', 'd'])).stdout,
        'namespace/one created\nvm.coppice.dev/two created\n',
      );
      await folder.write('k/kustomization.yaml', 'resources: [../d/2.yaml, inner, ../d/1.json]\n');
      await folder.write('k/inner/kustomization.yml', 'kind: Kustomization\nresources: [x.yaml]\n');
      await folder.write('k/inner/x.yaml', manifest('x', '{}'));
      assert.deepEqual(
        (await folder.run(['apply', '-k', 'k', '-o', 'name'])).stdout,
        'vm.coppice.dev/two\nvm.coppice.dev/x\nnamespace/one\n',
      );
    });

    it('names the field of a kustomization that needs kubectl when there is none', async () => {
      await folder.write('k/kustomization.yaml', 'resources: []\nnamePrefix: x-\n');
      const { code, stderr } = await folder.run(['apply', '-k', 'k'], { env: { PATH: '/nowhere' } });
      assert.equal(code, 1);
      assert.match(stderr, /kustomization\.yaml: the field "namePrefix" needs kubectl, which is not on PATH/);
    });

    it('checks every file before it touches anything', async () => {
      await folder.write('good.yaml', manifest('good', '{}'));
      await folder.write('bad.yaml', `${manifest('fine', '{}')}---\nkind: VM\n`);
      const { code, stderr } = await folder.run(['apply', '-f', 'good.yaml', '-f', 'bad.yaml']);
      assert.equal(code, 1);
      assert.equal(stderr, 'error: bad.yaml, document 2, line 6: apiVersion is missing\n');
      assert.equal(api.get('vms', 'good', 'demo'), undefined);
    });

    it('says where a refused object stands, applies the others, and fails', async () => {
      api.intercept = ({ method, body }) =>
        method === 'POST' && body.includes('"bad"')
          ? {
              status: 400,
              body: {
                kind: 'Status',
                status: 'Failure',
                reason: 'BadRequest',
                code: 400,
                message: 'strict decoding error: unknown field "spec.bogus"',
              },
            }
          : undefined;
      await folder.write('f.yaml', `${manifest('bad', '{bogus: 1}')}---\n${manifest('good', '{}')}`);
      const { code, stdout, stderr } = await folder.run(['apply', '-f', 'f.yaml']);
      assert.equal(code, 1);
      assert.equal(stdout, 'vm.coppice.dev/good created\n');
      assert.equal(stderr, 'error: f.yaml, document 1, line 1: strict decoding error: unknown field "spec.bogus"\n');
    });

    it('tries again when somebody else wrote in between', async () => {
      let races = 2;
      api.put('vms', aVM('new'));
      api.intercept = ({ method }) =>
        method === 'PATCH' && races-- > 0
          ? {
              status: 409,
              body: { kind: 'Status', status: 'Failure', reason: 'Conflict', code: 409, message: 'modified' },
            }
          : undefined;
      const { code } = await folder.run(['apply', '-f', '-'], { stdin: manifest('new', '{a: 1}') });
      assert.equal(code, 0);
      assert.equal(races, -1);
    });

    it('changes nothing in a dry run, and asks the server', async () => {
      const { stdout } = await folder.run(['apply', '-f', '-', '--dry-run', 'server'], {
        stdin: manifest('dry', '{}'),
      });
      assert.equal(stdout, 'vm.coppice.dev/dry created (server dry run)\n');
      assert.match(api.requests.at(-1)?.url ?? '', /dryRun=All/);
    });

    for (const argv of [
      ['apply'],
      ['apply', 'x'],
      ['apply', '-f', 'gone.yaml'],
      ['apply', '-f', 'https://x/y.yaml'],
      ['apply', '-f', 'a', '-k', 'b'],
    ]) {
      it(`refuses ${argv.join(' ')}`, async () => {
        const { code, stderr } = await folder.run(argv);
        assert.equal(code, 1);
        assert.match(stderr, /^error: /);
      });
    }
  });

  describe('delete', () => {
    it('needs -y where nobody can be asked', async () => {
      const { code, stderr } = await folder.run(['delete', 'vm', 'a']);
      assert.equal(code, 1);
      assert.match(stderr, /this deletes vm\.coppice\.dev\/a in demo\nhint: add -y/);
      assert(api.get('vms', 'a', 'demo') !== undefined);
    });

    it('asks on a terminal and takes no for an answer', async () => {
      assert.equal((await folder.run(['delete', 'vm', 'a'], { tty: true, stdin: 'n\n' })).code, 1);
      assert(api.get('vms', 'a', 'demo') !== undefined);
      const yes = await folder.run(['delete', 'vm', 'a'], { tty: true, stdin: 'y\n' });
      assert.equal(yes.stdout, 'vm.coppice.dev "a" deleted\n');
      assert.equal(api.get('vms', 'a', 'demo'), undefined);
    });

    it('waits until it is gone', async () => {
      api.put('vms', { ...aVM('held'), metadata: { name: 'held', namespace: 'demo', finalizers: ['x/y'] } });
      const watched = new Promise<void>((resolve) => {
        api.intercept = ({ url }) => {
          if (url.includes('watch=true')) resolve();
          return undefined;
        };
      });
      const deleting = folder.run(['delete', '-y', 'vm/held']);
      await watched;
      api.remove('vms', 'held', 'demo');
      assert.equal((await deleting).code, 0);
    });

    it('takes an object that was made again at once for what it is: another one', async () => {
      let again = false;
      api.intercept = ({ url }) => {
        if (!again && url.includes('fieldSelector')) {
          again = true;
          api.put('vms', aVM('a'));
        }
        return undefined;
      };
      assert.equal((await folder.run(['delete', '-y', 'vm/a', '--timeout', '5s'])).code, 0);
      assert(again && api.get('vms', 'a', 'demo') !== undefined);
    });

    it('says what keeps it when its time is up', async () => {
      api.put('vms', { ...aVM('held'), metadata: { name: 'held', namespace: 'demo', finalizers: ['x/y'] } });
      const { code, stderr } = await folder.run(['delete', '-y', 'vm/held', '--timeout', '1s']);
      assert.equal(code, 1);
      assert.match(stderr, /timed out waiting for vm\.coppice\.dev\/held to go\nhint: it is kept by x\/y/);
      assert.equal((await folder.run(['delete', '-y', 'vm/held', '--no-wait'])).code, 0);
    });

    it('takes files, selectors and --all', async () => {
      api.put('vms', aVM('c', {}, { app: 'y' }));
      assert.equal((await folder.run(['delete', '-y', 'vms', '-l', 'app=x'])).stdout, 'vm.coppice.dev "a" deleted\n');
      assert.equal((await folder.run(['delete', '-y', '-f', '-'], { stdin: manifest('c', '{}') })).code, 0);
      assert.equal((await folder.run(['delete', '-y', 'vms', '--all'])).stdout, 'No resources found\n');
      assert.equal((await folder.run(['delete', '-y', 'vms'])).code, 1);
    });

    it('fails for what is not there, unless told not to', async () => {
      assert.equal((await folder.run(['delete', '-y', 'vm', 'nope'])).code, 1);
      assert.equal((await folder.run(['delete', '-y', 'vm', 'nope', '--ignore-not-found'])).code, 0);
    });
  });

  describe('wait', () => {
    it('ends when the condition comes true', async () => {
      const watched = new Promise<void>((resolve) => {
        api.intercept = ({ url }) => {
          if (url.includes('watch=true')) resolve();
          return undefined;
        };
      });
      const waiting = folder.run(['wait', 'vm/a', '--for', 'condition=Ready']);
      await watched;
      api.put('vms', aVM('a', { conditions: [{ type: 'Ready', status: 'True' }] }));
      assert.deepEqual(await waiting, { code: 0, stdout: 'vm.coppice.dev/a condition met\n', stderr: '' });
    });

    it('says what it is instead when its time is up', async () => {
      api.put(
        'vms',
        aVM('a', { conditions: [{ type: 'Ready', status: 'False', reason: 'NoRoom', message: 'no host has room' }] }),
      );
      for (const timeout of ['0s', '1']) {
        const { code, stderr } = await folder.run(['wait', 'vm/a', '--for=condition=Ready', '--timeout', timeout]);
        assert.equal(code, 1);
        assert.equal(
          stderr,
          'error: timed out waiting for the condition on vm.coppice.dev/a\nhint: Ready is False, NoRoom: no host has room\n',
        );
      }
    });

    it('waits for creation and deletion, and for a selector', async () => {
      // As of kubectl: nothing was deleted, and it is not there.
      assert.deepEqual(await folder.run(['wait', 'vm/gone', '--for=delete']), { code: 0, stdout: '', stderr: '' });
      assert.equal((await folder.run(['wait', 'vm/a', '--for=create'])).stdout, 'vm.coppice.dev/a created\n');
      assert.equal(
        (await folder.run(['wait', 'vms', '-l', 'app=x', '--for', 'jsonpath={.status.phase}=Running'])).code,
        0,
      );
      assert.equal((await folder.run(['wait', 'vms', '-l', 'app=none', '--for=delete'])).code, 1);
      assert.equal((await folder.run(['wait', 'vm/gone', '--for=condition=Ready'])).code, 1);
    });
  });

  describe('logs', () => {
    it('copies the console and passes its flags on', async () => {
      api.logs = 'booting\nlogin: ';
      assert.equal((await folder.run(['logs', 'a', '-f', '--tail', '5'])).stdout, 'booting\nlogin: ');
      assert.match(api.requests.at(-1)?.url ?? '', /\/vms\/a\/logs\?follow=true&tailLines=5$/);
    });
  });

  describe('status', () => {
    it('counts hosts and VMs and says what waits and why', async () => {
      const ready = { conditions: [{ type: 'Ready', status: 'True', reason: 'Fine', message: 'ok' }] };
      api.put('hosts', { metadata: { name: 'mac-1' }, spec: { cordoned: true }, status: ready });
      api.put('vms', aVM('a', { phase: 'Running', ...ready }));
      const why = { type: 'Scheduled', status: 'False', reason: 'NoRoom', message: 'needs 8Gi; largest free is 2Gi' };
      api.put('vms', {
        ...aVM('b', { phase: 'Pending', conditions: [why] }),
        metadata: { name: 'b', namespace: 'other' },
      });
      const { stdout } = await folder.run(['status', '-o', 'table']);
      assert.match(stdout, /^Hosts +1: 1 ready, 1 cordoned$/m);
      assert.match(stdout, /^VMs +2: 1 Pending, 1 Running$/m);
      assert.match(stdout, /^vm\/b in other +NoRoom +needs 8Gi; largest free is 2Gi$/m);
      assert.deepEqual(JSON.parse((await folder.run(['status'])).stdout).hosts, { cordoned: 1, ready: 1, total: 1 });
    });
  });

  describe('version', () => {
    it('names both sides, and does without a server', async () => {
      assert.match(
        (await folder.run(['version', '-o', 'table'])).stdout,
        /^Client: \d.*\nServer: v1\.32\.5\+fake at https:/,
      );
      await folder.write('kubeconfig', api.kubeconfig().replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1'));
      const { code, stdout } = await folder.run(['--version', '-o', 'table']);
      assert.equal(code, 0);
      assert.match(stdout, /Server: none \(nothing listens at https:\/\/127\.0\.0\.1:1\)/);
    });
  });

  describe('what goes wrong', () => {
    const status = (code: number, reason: string, message: string, details: object = {}) => ({
      status: code,
      body: { kind: 'Status', status: 'Failure', reason, message, code, details },
    });
    const refusals: [ReturnType<typeof status>, string][] = [
      [
        status(401, 'Unauthorized', 'Unauthorized'),
        'error: Unauthorized\nhint: the credentials of the kubeconfig are not known here',
      ],
      [status(403, 'Forbidden', 'vms is forbidden: no'), 'error: vms is forbidden: no\n'],
      [
        status(429, 'TooManyRequests', 'slow down', { retryAfterSeconds: 3 }),
        'error: slow down\nhint: try again in 3 s\n',
      ],
      [
        status(422, 'Invalid', 'VM "a" is invalid', { causes: [{ field: 'spec.x', message: 'too big' }] }),
        'error: VM "a" is invalid\n  * spec.x: too big\n',
      ],
      [{ status: 500, body: 'boom' as never }, 'error: boom\n'],
    ];
    for (const [answer, expected] of refusals) {
      it(`prints the words of the server: ${answer.status}`, async () => {
        api.intercept = ({ url }) => (url.includes('/vms') ? answer : undefined);
        const { code, stderr } = await folder.run(['get', 'vms']);
        assert.equal(code, 1);
        assert(stderr.startsWith(expected), stderr);
      });
    }

    it('is a sentence and a hint when there is no server, no kubeconfig or no trust', async () => {
      await folder.write('dead', api.kubeconfig().replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1'));
      assert.match(
        (await folder.run(['get', 'vms', '--kubeconfig', 'dead'])).stderr,
        /^error: nothing listens at .*\nhint: start the control plane/,
      );
      assert.match(
        (await folder.run(['get', 'vms', '--kubeconfig', 'gone'])).stderr,
        /^error: no kubeconfig: .*gone is not there\nhint: /,
      );
      const stranger = JSON.parse(api.kubeconfig());
      delete stranger.clusters[0].cluster['certificate-authority-data'];
      await folder.write('stranger', JSON.stringify(stranger));
      assert.match(
        (await folder.run(['get', 'vms', '--kubeconfig', 'stranger'])).stderr,
        /^error: the certificate of .* is not trusted/,
      );
    });

    it('is exit code 1 and no stack for a wrong command, flag, value or type', async () => {
      for (const argv of [
        'gett vms',
        'get --bogus vms',
        'get -o xml vms',
        'get',
        'get vmz',
        'wait vm/a',
        'logs',
        'logs a --tail x',
        'up now',
        'up --port 70000',
        'images build x',
      ]) {
        const { code, stderr } = await folder.run(argv.split(' '));
        assert.equal(code, 1, argv);
        assert.match(stderr, /^error: .+\n(hint: .+\n)?$/, argv);
      }
    });

    it('does not happen for help', async () => {
      for (const argv of ['', '--help', 'help', 'get --help', 'help exec', 'images', 'images build --help']) {
        const { code, stdout, stderr } = await folder.run(argv.split(' ').filter(Boolean));
        assert.deepEqual([code, stderr], [0, ''], argv);
        assert.match(stdout, /USAGE/, argv);
      }
    });
  });
});
