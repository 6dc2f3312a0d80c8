import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { OPERATOR } from '../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import type { ApiRequest } from '../../../apiserver/client/transport.ts';
import { writeAdminKubeconfig } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { openHome } from '../../../cli/serve/home.ts';
import { Steps } from '../../../cli/serve/steps.ts';
import { tellLeftBehind } from '../../../cli/up/left-behind.ts';
import { applyQuickstart, awaitQuickstart, type QuickstartDeps } from '../../../cli/up/quickstart.ts';
import type { ImageManifest } from '../../../nodelet/images/image-manifest.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { Tenant } from '../../../resources/kinds/tenant.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { setConditions } from '../../../resources/meta/condition.ts';
import { eventually } from '../../harness/eventually.ts';
import { CliFolder } from '../../harness/run-cli.ts';
import {
  type ListeningServer,
  listenTestServer,
  OPERATOR_TOKEN,
  startTestServer,
  type TestServer,
} from '../../harness/server.ts';

const MANIFEST: ImageManifest = {
  schema: 1,
  name: 'tiny-linux',
  guestOS: 'linux',
  kernel: 'vmlinux',
  initrd: 'initrd.cpio',
  agent: true,
  kernelArguments: '',
  kernelVersion: '6',
  packages: {},
};
const { signal } = new AbortController();

describe('the quickstart', () => {
  let folder: CliFolder;
  let test: TestServer;
  let listening: ListeningServer;
  let clock: ManualClock;
  let stdout: PassThrough;
  let deps: QuickstartDeps;
  beforeEach(async () => {
    folder = await CliFolder.make();
    test = await startTestServer();
    listening = await listenTestServer(test, join(folder.path, 'pki'));
    const home = openHome(join(folder.path, 'home'));
    writeAdminKubeconfig(home.kubeconfig, { server: listening.url, caCert: listening.caCert, token: OPERATOR_TOKEN });
    clock = new ManualClock();
    stdout = new PassThrough();
    const io = {
      stdin: new PassThrough(),
      stdout,
      stderr: new PassThrough(),
      env: {},
      cwd: folder.path,
      userHome: folder.path,
      signal,
    };
    deps = { io, steps: new Steps(io, clock), home, client: test.client, clock };
  });
  afterEach(async () => {
    await listening[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  const said = () => String(stdout.read() ?? '');
  const vms = () => test.client.resource<VM>(VM, 'demo');
  const tenants = async () => (await test.client.resource<Tenant>(Tenant).list()).items.map((t) => t.metadata.name);
  const report = async (status: 'True' | 'False', message: string) => {
    const conditions = setConditions(await vms().get('hello'), 0, [
      { type: 'Ready', status, reason: 'Testing', message },
    ]);
    await vms().patch('hello', { status: { conditions } }, { subresource: 'status' });
  };

  /** The wait, with all that it asks of the server; each watch of its own can be ended. */
  function wait(onRequest: (request: ApiRequest) => void = () => {}) {
    const inner = test.server.transportFor(OPERATOR);
    const client = new ApiClient((request) => {
      onRequest(request);
      return inner(request);
    });
    return awaitQuickstart({ ...deps, client }, signal);
  }

  it('is applied once, whatever becomes of it', async () => {
    await applyQuickstart(deps, signal);
    assert.equal(said(), '✓ applied manifests/quickstart (tenant demo, image tiny-linux, VM hello)  (0.0 s)\n');
    assert.equal((await vms().get('hello')).spec.image, 'tiny-linux');
    await vms().delete('hello');
    await applyQuickstart(deps, signal);
    assert.equal(said(), '');
    assert.equal(await wait(), false);
    assert.equal(said(), '');
  });

  it('is left for the next start when its image cannot be built, saying what to do', async () => {
    const fix = 'no C compiler for the guest agent: run "apt-get install gcc"';
    await applyQuickstart({ ...deps, buildImage: () => Promise.reject(new Error(fix)) }, signal);
    assert.equal(
      said(),
      `✗ image tiny-linux  (0.0 s)\n  ${fix}\n  up without the quickstart; the next start tries it again (--no-quickstart leaves it out)\n`,
    );
    assert.deepEqual(await tenants(), []);
    assert.equal(await wait(), false);

    let out = '';
    const buildImage: NonNullable<QuickstartDeps['buildImage']> = async ({ outDir }) => {
      out = outDir;
      return { manifest: MANIFEST, facts: { digest: `sha256:${'0'.repeat(64)}`, sizeBytes: 1 }, built: true };
    };
    await applyQuickstart({ ...deps, buildImage }, signal);
    assert.equal(out, join(deps.home.images, 'tiny-linux'));
    assert.match(said(), /^✓ built image tiny-linux .*\n✓ applied manifests\/quickstart /);
    assert.deepEqual(await tenants(), ['demo']);
  });

  it('builds no image that is there', async () => {
    mkdirSync(join(deps.home.images, 'tiny-linux'));
    writeFileSync(join(deps.home.images, 'tiny-linux', 'image.json'), '{}');
    await applyQuickstart({ ...deps, buildImage: () => Promise.reject(new Error('asked for')) }, signal);
    assert.match(said(), /^✓ applied manifests/);
  });

  it('stops at once when it is told to while the image is built', async () => {
    const ending = new AbortController();
    const buildImage = () => {
      ending.abort(new Error('Ctrl-C'));
      return Promise.reject(new Error('the compiler was killed'));
    };
    await assert.rejects(applyQuickstart({ ...deps, buildImage }, ending.signal), /Ctrl-C/);
    assert.doesNotMatch(said(), /next start/);
  });

  it('is up without it when the server does not take it', async () => {
    writeFileSync(deps.home.kubeconfig, '{}');
    await applyQuickstart(deps, signal);
    assert.match(said(), /^✗ manifests\/quickstart .*\n {2}\S.*\n(.*\n)? {2}up without the quickstart; /);
  });

  it('is waited for until it is Ready, whenever the server ends the watch', async () => {
    await applyQuickstart(deps, signal);
    said();
    let watches = 0;
    const inner = test.server.transportFor(OPERATOR);
    const client = new ApiClient(async (request) => {
      const response = await inner(request);
      if (!request.path.includes('watch=true')) return response;
      watches += 1;
      if (watches === 3) return response;
      await response.body[Symbol.asyncIterator]().return?.();
      return { ...response, body: (async function* () {})() };
    });
    const waiting = awaitQuickstart({ ...deps, client }, signal);
    await eventually(clock, 'a third watch', () => watches === 3);
    await report('False', 'not yet');
    await report('True', 'now');
    assert.equal(await waiting, true);
    assert.match(said(), /^✓ VM demo\/hello is Ready /);
  });

  it('is not waited for on a host that this start does not run, which is told', async () => {
    await applyQuickstart(deps, signal);
    await test.client
      .resource<Host>(Host)
      .create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-9' }, spec: {} as Host['spec'] });
    said();
    const leftBehind = await tellLeftBehind(test.client, ['mac-1'], deps.steps, signal);
    assert.match(said(), /^ {2}not run by this start: mac-9\. /);
    assert.deepEqual(await tellLeftBehind(test.client, ['mac-9'], deps.steps, signal), new Set());
    assert.equal(said(), '');

    const hello = await vms().get('hello');
    const bound = new TextEncoder().encode(JSON.stringify({ ...hello, spec: { ...hello.spec, hostName: 'mac-9' } }));
    const client = new ApiClient(async () => ({ status: 200, headers: {}, body: only(bound) }));
    assert.equal(await awaitQuickstart({ ...deps, client, leftBehind }, signal), false);
  });

  it('is not waited for any more once it is deleted or shall not run', async () => {
    await applyQuickstart(deps, signal);
    said();
    const watching = Promise.withResolvers<void>();
    const waiting = wait(({ path }) => path.includes('watch=true') && watching.resolve());
    await watching.promise;
    await vms().patch('hello', { spec: { power: 'Stopped' } });
    assert.equal(await waiting, false);
    assert.match(said(), /^✓ VM demo\/hello is not to run any more /);
    assert.equal(await wait(), false);

    await vms().patch('hello', { spec: { power: 'Running' } });
    const again = Promise.withResolvers<void>();
    const second = wait(({ path }) => path.includes('watch=true') && again.resolve());
    await again.promise;
    await vms().delete('hello');
    assert.equal(await second, false);
  });

  it('is waited for no longer than two minutes, and then says why', async () => {
    await applyQuickstart(deps, signal);
    await report('False', 'no host has room');
    said();
    const watching = Promise.withResolvers<void>();
    const waiting = wait(({ path }) => path.includes('watch=true') && watching.resolve());
    await watching.promise;
    await clock.advance(120_000);
    assert.equal(await waiting, false);
    assert.match(said(), /\n {2}not Ready after 120 s: Testing: no host has room\n$/);
  });
});

async function* only(piece: Uint8Array): AsyncIterable<Uint8Array> {
  yield piece;
}
