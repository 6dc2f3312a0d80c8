import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { writeAdminKubeconfig } from '../../apiserver/pki/admin-kubeconfig.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { kindFromCRD } from '../../resources/meta/kind-from-crd.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../harness/server.ts';
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

const UNKNOWN_VERSION =
  'echo \'{"apiVersion":"demo.example.com/v2","kind":"Widget","metadata":{"name":"r1"},"spec":{"size":"small"}}\' | kubectl create --raw /apis/demo.example.com/v1/namespaces/$NS/widgets -f -';

const FAILED_TEST = 'kubectl patch widget w1 --type=json -p \'[{"op":"test","path":"/spec/size","value":"small"}]\'';
const MISSING_PATH = 'kubectl patch widget w1 --type=json -p \'[{"op":"remove","path":"/spec/nothing"}]\'';
const WHY_MORE =
  'the recorded server says nothing of why a JSON patch cannot be; ours goes on to say which operation and why';

/** Steps that do not match yet, by scenario, each with the reason. A step that comes to match must be taken off. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '02-create-get': {},
  '03-apply': {},
  '04-server-side-apply': {},
  '05-patch': {
    [FAILED_TEST]: WHY_MORE,
    [MISSING_PATH]: WHY_MORE,
  },
  '06-delete': {},
  '07-raw': {
    'kubectl get --raw "/apis/demo.example.com/v1/namespaces/$NS/widgets?continue=garbage"':
      "the reason ends in Go's own words for a JSON error; code and reason are the same",
    'kubectl get --raw "/apis/demo.example.com/v1/namespaces/$NS/widgets?resourceVersion=abc"':
      'the recorded server lets a 500 of its own through; ours is a 422 of ListOptions with the same sentence',
    [UNKNOWN_VERSION]:
      'the recorded server warns of an unknown field of a version it does not know; ours only refuses, in the same words',
  },
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
    const crds = loadAll(readFileSync(join(HERE, 'files/crds.yaml'), 'utf8')) as Parameters<typeof kindFromCRD>[0][];
    store = await oldStore();
    test = await startTestServer({ store });
    for (const crd of crds) test.server.registry.add(kindFromCRD(crd));
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
