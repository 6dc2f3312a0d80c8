import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeAdminKubeconfig } from '../../apiserver/pki/admin-kubeconfig.ts';
import { parseYaml } from '../../apiserver/requests/yaml.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { parseJson } from '../../resources/meta/json.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../harness/server.ts';
import { READ, REFUSED } from '../resources/yaml/kubectl-table.ts';
import { kubectlPath } from './find-kubectl.ts';
import { replay } from './transcript.ts';

const HERE = import.meta.dirname;
const NAMESPACES: ResourceRef = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
const STEP_MS = 12_000;
/** Steps that were recorded as hanging, for 90 s; what hangs there hangs here, so less is enough. */
const HANGING_STEP_MS = 5_000;

const FAILED_TEST = 'kubectl patch widget w1 --type=json -p \'[{"op":"test","path":"/spec/size","value":"small"}]\'';
const MISSING_PATH = 'kubectl patch widget w1 --type=json -p \'[{"op":"remove","path":"/spec/nothing"}]\'';
const WHY_MORE =
  'the recorded server says nothing of why a JSON patch cannot be; ours goes on to say which operation and why';

/** Steps that do not match yet, by scenario, each with the reason. A step that comes to match must be taken off. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '01-crd': {},
  '02-create-get': {},
  '03-apply': {},
  '04-server-side-apply': {},
  '05-patch': {
    [FAILED_TEST]: WHY_MORE,
    [MISSING_PATH]: WHY_MORE,
  },
  '06-delete': {},
  '07-raw': {},
  '08-wait-watch': {},
};

/** A store that has forgotten its first revisions, as the recorded one had. */
async function oldStore(): Promise<MemoryStore> {
  const store = await MemoryStore.open({ ids: systemIds });
  for (let i = 0; i < 3; i++) {
    await store.txn({ compares: [], puts: [{ key: 'fence/old', value: new Uint8Array() }], deletes: [] }).done;
  }
  await store.compact(3);
  return store;
}

/** Transcripts recorded from a real kube-apiserver, replayed with real kubectl against the real server. */
describe('kubectl transcripts', function () {
  this.timeout(240_000);
  let folder: string;
  let store: MemoryStore;
  let test: TestServer;
  let listening: ListeningServer;
  let kubectl: string;

  before(async function () {
    const found = kubectlPath();
    if (typeof found !== 'string') {
      console.log(`      skipped: ${found.why}`);
      this.skip();
    }
    kubectl = found;
    folder = mkdtempSync(join(tmpdir(), 'coppice-kubectl-'));
    store = await oldStore();
    test = await startTestServer({ store });
    listening = await listenTestServer(test, join(folder, 'pki'));
    const kubeconfig = join(folder, 'kubeconfig');
    writeAdminKubeconfig(kubeconfig, { server: listening.url, caCert: listening.caCert, token: OPERATOR_TOKEN });
    for (const scenario of Object.keys(KNOWN)) {
      const name = `t-${scenario}`;
      await test.client.resource(NAMESPACES).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
  });

  after(async () => {
    await listening?.[Symbol.asyncDispose]();
    await test?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** Runs kubectl as the operator, and answers all it printed. */
  const run = async (...args: readonly string[]): Promise<string> => {
    const all = [...args, '--kubeconfig', join(folder, 'kubeconfig')];
    try {
      const { stdout, stderr } = await promisify(execFile)(kubectl, all, { env: { ...process.env, HOME: folder } });
      return stdout + stderr;
    } catch (error) {
      return String((error as { stderr?: string }).stderr);
    }
  };

  it('our own definitions are read like any other, applied unchanged, and not deleted', async () => {
    const applied = await run('apply', '-f', join(HERE, '../../manifests/crds'));
    const ours = [
      'hosts',
      'images',
      'leases',
      'leasesets',
      'policies',
      'pools',
      'pricelists',
      'tenants',
      'vms',
      'volumes',
    ].map((plural) => `${plural}.coppice.dev`);
    const lines = ours.map((name) => `customresourcedefinition.apiextensions.k8s.io/${name} unchanged\n`);
    assert.equal(applied, lines.join(''));
    const waited = await run('wait', '--for', 'condition=Established', 'crd/vms.coppice.dev', '--timeout=5s');
    assert.equal(waited, 'customresourcedefinition.apiextensions.k8s.io/vms.coppice.dev condition met\n');
    assert.match(await run('get', 'crd', 'vms.coppice.dev'), /^NAME +CREATED AT\nvms.coppice.dev +\d{4}-\S+Z\n$/);
    assert.match(await run('explain', 'crd.spec.versions.schema'), /openAPIV3Schema\t<Object>/);
    assert.equal(
      await run('delete', 'crd', 'vms.coppice.dev'),
      'Error from server (Forbidden): customresourcedefinitions.apiextensions.k8s.io "vms.coppice.dev" is forbidden: ' +
        'it describes a kind that this server has built in, and cannot be deleted\n',
    );
    assert.equal(
      await run('apply', '--dry-run=server', '-f', join(HERE, '../../manifests/crds/volumes.yaml')),
      lines.at(-1)?.replace('\n', ' (server dry run)\n'),
    );
  });

  /** The spec that kubectl reads from the lines of a YAML document, or undefined where it refuses them. */
  const specBy = async (name: string, lines: readonly string[]): Promise<Record<string, unknown> | undefined> => {
    const file = join(folder, `${name}.yaml`);
    const spec = lines.map((line) => `  ${line}\n`).join('');
    writeFileSync(file, `apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec:\n${spec}`);
    const told = await run('label', '--local', '-f', file, 'q=r', '-o', 'json');
    if (!told.startsWith('{')) return undefined;
    const { value } = parseJson(told) as { value: { spec: Record<string, unknown> } };
    return value.spec;
  };

  it('kubectl reads every YAML document of the table as the table has it, and as the server does', async () => {
    // A document that begins with a directive or a marker cannot stand inside another.
    const inner = READ.filter(([yaml]) => !/^(?:%|---)/.test(yaml));
    assert.ok(inner.length > 60);
    const lines = inner.flatMap(([yaml], i) => [`k${i}:`, ...yaml.split('\n').map((line) => `  ${line}`)]);
    const theirs = await specBy('read', lines);
    inner.forEach(([yaml, json], i) => {
      assert.deepEqual(theirs?.[`k${i}`], parseJson(json).value, yaml);
      assert.deepEqual(parseYaml(yaml).value, parseJson(json).value, yaml);
    });
  });

  it('kubectl refuses every YAML document that the table has as refused', async () => {
    for (const [i, yaml] of REFUSED.entries())
      assert.equal(await specBy(`refused-${i}`, yaml.split('\n')), undefined, yaml);
  });

  for (const [scenario, known] of Object.entries(KNOWN)) {
    it(`${scenario}: every step but ${Object.keys(known).length} matches`, async () => {
      const result = await replay({
        scenarioFile: join(HERE, `scenarios/${scenario}.txt`),
        filesDir: join(HERE, 'files'),
        kubeconfig: join(folder, 'kubeconfig'),
        kubectl,
        stepDeadline: ({ want }) => AbortSignal.timeout(want.at(-1) === '? timeout' ? HANGING_STEP_MS : STEP_MS),
      });
      console.log(`      ${result.matched} of ${result.total} steps match`);
      const unexpected = result.failures.filter((failure) => known[failure.command] === undefined);
      for (const { command, want, got } of unexpected) {
        console.log(
          [
            `      $ ${command}`,
            ...want.map((line) => `        - ${line}`),
            ...got.map((line) => `        + ${line}`),
          ].join('\n'),
        );
      }
      assert.deepEqual(
        unexpected.map((failure) => failure.command),
        [],
      );
      const now = Object.keys(known).filter(
        (command) => !result.failures.some((failure) => failure.command === command),
      );
      assert.deepEqual(now, [], 'these steps match now: take them off the list');
    });
  }
});
