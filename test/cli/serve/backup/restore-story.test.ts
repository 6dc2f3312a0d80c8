import assert from 'node:assert/strict';
import { cp, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { ApiResponse } from '../../../../apiserver/client/transport.ts';
import { openSession, type Session } from '../../../../cli/session.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import type { KubeObject } from '../../../../resources/meta/object.ts';
import { CliFolder } from '../../../harness/run-cli.ts';
import { UpProcess } from '../../up/up-process.ts';

const SIM = ['--driver', 'sim', '--hosts', '2', '--port', '0'];
const DEADLINE_MS = 60_000;
const VMS = { group: 'coppice.dev', version: 'v1', plural: 'vms', kind: 'VM', namespaced: true } as const;
const HOSTS = { group: 'coppice.dev', version: 'v1', plural: 'hosts', kind: 'Host', namespaced: false } as const;
const SECRETS = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true } as const;

/** The parts of objects that are looked at. */
interface Looked extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: {
    readonly phase?: string;
    readonly distrustedStore?: string;
    readonly orphans?: readonly { readonly label: string; readonly power: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

interface GuestsFile {
  readonly hosts: Readonly<Record<string, Readonly<Record<string, { spec: { label: string }; power: string }>>>>;
}

describe('a fleet that is restored from a backup', function () {
  this.timeout(300_000);
  let folder: CliFolder;
  const started: UpProcess[] = [];
  const sessions: Session[] = [];
  beforeEach(async () => {
    folder = await CliFolder.make();
  });
  afterEach(async () => {
    for (const session of sessions.splice(0)) await session[Symbol.asyncDispose]();
    for (const up of started.splice(0)) await up[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  async function up(home: string): Promise<Session> {
    const process = new UpProcess(home, SIM);
    started.push(process);
    await process.says(/Ctrl-C stops/, DEADLINE_MS);
    const io = {
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      env: {},
      cwd: folder.path,
      userHome: folder.path,
      signal: AbortSignal.timeout(200_000),
    };
    const target = { kubeconfig: join(home, 'kubeconfig'), context: undefined, namespace: undefined };
    const session = await openSession(io, target);
    sessions.push(session);
    return session;
  }

  async function down(): Promise<void> {
    for (const session of sessions.splice(0)) await session[Symbol.asyncDispose]();
    for (const process of started.splice(0)) assert.deepEqual(await process.end('SIGINT'), { code: 0, signal: null });
  }

  const coppice = async (...argv: string[]) => {
    const run = await folder.run(argv, { env: { COPPICE_HOME: '' } });
    assert.equal(run.code, 0, `${argv.join(' ')}: ${run.stderr}`);
    return run.stdout;
  };

  async function until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
    const deadline = systemClock.monotonic() + DEADLINE_MS;
    for (;;) {
      const found = await look().catch((error: unknown) => {
        if (systemClock.monotonic() > deadline) throw error;
      });
      if (found !== undefined && found !== false) return found;
      if (systemClock.monotonic() > deadline) throw new Error(`never came true: ${what}`);
      await systemClock.sleep(50);
    }
  }

  /** The guests of all simulated hosts, as they are on the disk: label to power. */
  async function guests(home: string): Promise<Readonly<Record<string, string>>> {
    const { hosts } = JSON.parse(await readFile(join(home, 'hosts', 'sim-guests.json'), 'utf8')) as GuestsFile;
    const all = Object.values(hosts).flatMap((host) => Object.values(host));
    return Object.fromEntries(all.map(({ spec, power }) => [spec.label, power]));
  }

  const makeVM = async ({ client }: Session, name: string) => {
    const vms = client.resource<Looked>(VMS, 'demo');
    const spec = { image: 'tiny-linux', size: { vcpus: 1, memory: '128Mi' } };
    await vms.create({ apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec });
    return until(`${name} runs`, async () => {
      const vm = await vms.get(name);
      return vm.status?.phase === 'Running' && vm;
    });
  };

  const goneVM = ({ client }: Session, name: string) =>
    until(`${name} is gone`, async () =>
      (await client.resource<Looked>(VMS, 'demo').list()).items.every((vm) => vm.metadata.name !== name),
    );

  const statusOf = async (answer: Promise<ApiResponse>) => {
    const { status, body } = await answer;
    let text = '';
    for await (const piece of body) {
      text += Buffer.from(piece).toString();
      if (text.includes('\n')) break;
    }
    return { status, text };
  };

  it('has no guest stopped or removed before the operator says so, and goes on then', async () => {
    const [old, fresh] = [join(folder.path, 'old'), join(folder.path, 'new')];
    const file = join(folder.path, 'fleet.backup');
    const before = await up(old);
    await makeVM(before, 'early');
    const secrets = before.client.resource<Looked>(SECRETS, 'demo');
    await secrets.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'word' },
      data: { word: 'cGFzcw==' },
    });
    assert.match(
      await coppice('backup', file, '--home', old),
      /^backed up \d+ keys at revision \d+ of store \S+, from https/,
    );

    await makeVM(before, 'later');
    const vms = before.client.resource<Looked>(VMS, 'demo');
    await vms.delete('early');
    await goneVM(before, 'early');
    const known = await vms.list({ limit: 1 });
    const hello = await vms.get('hello');
    assert.ok(known.metadata.continue !== undefined);
    await down();

    await cp(join(old, 'images'), join(fresh, 'images'), { recursive: true, force: true }).catch(() => {});
    const restored = await coppice('restore', file, '--home', fresh);
    assert.match(restored, /^restored \d+ keys of store/);
    await rename(join(old, 'hosts'), join(folder.path, 'hosts'));
    await cp(join(folder.path, 'hosts'), join(fresh, 'hosts'), { recursive: true });
    const after = await up(fresh);
    const { client } = after;

    // What was known of the old store means nothing in the new one.
    const path = '/apis/coppice.dev/v1/namespaces/demo/vms';
    const get = (query: string) => statusOf(client.send({ method: 'GET', path: `${path}?${query}` }));
    const old410 = await get(`limit=1&continue=${encodeURIComponent(known.metadata.continue ?? '')}`);
    assert.equal(old410.status, 410, old410.text);
    const watched = await get(`watch=true&resourceVersion=${known.metadata.resourceVersion}`);
    assert.ok(watched.status === 410 || /"code":410/.test(watched.text), watched.text);
    await assert.rejects(client.resource<Looked>(VMS, 'demo').update(hello), { reason: 'Conflict' });

    // Its keys came along.
    const secret = await client.resource<Looked>(SECRETS, 'demo').get('word');
    assert.deepEqual(secret.data, { word: 'cGFzcw==' });

    const hosts = client.resource<Looked>(HOSTS);
    const all = (await hosts.list()).items.length;
    const distrusting = async () =>
      (await hosts.list()).items.filter((host) => host.status?.distrustedStore !== undefined);
    await until('the hosts noticed', async () => (await distrusting()).length === all);
    const orphaned = () =>
      until('the guest that the backup does not know is an orphan', async () =>
        (await hosts.list()).items
          .flatMap((host) => host.status?.orphans ?? [])
          .find(({ label }) => label === 'demo/later'),
      );
    assert.equal((await orphaned()).power, 'Running');
    const lost = await until('the guest that is gone is told of', async () => {
      const vm = await client.resource<Looked>(VMS, 'demo').get('early');
      return vm.status?.phase === 'Failed' && vm;
    });
    assert.equal(lost.status?.conditions?.find(({ type }) => type === 'Ready')?.reason, 'GuestLost');

    const status = await coppice('status', '--kubeconfig', join(fresh, 'kubeconfig'), '-o', 'json');
    assert.match(status, /StoreRolledBack/);
    assert.match(status, /coppice host trust-store mac-1/);

    await client.resource<Looked>(VMS, 'demo').delete('hello');
    await until('the host says why it does nothing', async () => {
      const vm = await client.resource<Looked>(VMS, 'demo').get('hello');
      return vm.status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'StoreRolledBack');
    });
    assert.deepEqual(await guests(fresh), { 'demo/hello': 'Running', 'demo/later': 'Running' });

    const told = await coppice('host', 'trust-store', '--all', '--kubeconfig', join(fresh, 'kubeconfig'));
    assert.equal(told.match(/^host\.coppice\.dev\/mac-\d trusts \S+@\d+$/gm)?.length, all, told);
    await goneVM(after, 'hello');
    await until('the hosts trust it', async () => (await distrusting()).length === 0);
    assert.equal((await orphaned()).power, 'Running');
    assert.deepEqual(await guests(fresh), { 'demo/later': 'Running' });
    await makeVM(after, 'new');
    await down();
  });
});
