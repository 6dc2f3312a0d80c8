import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type AdminConnection, adminConnection } from '../../harness/admin-connection.ts';
import { SmallDisk } from '../../harness/small-disk.ts';
import { type TlsAnswer, tlsRequest } from '../../harness/tls-request.ts';
import { TlsWatcher } from '../../harness/tls-watcher.ts';
import { until } from '../../harness/until.ts';
import { UpProcess } from './up-process.ts';

const MIB = 1 << 20;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const VMS = '/apis/coppice.dev/v1/namespaces/demo/vms';
const BIG = 'x'.repeat(100_000);
const ARGS = ['--driver', 'sim', '--hosts', '1', '--no-quickstart'];

describe('coppice up', () => {
  it('on a disk that fills refuses writes, serves on, and writes again once there is room', async function () {
    this.timeout(180_000);
    await using disk = await SmallDisk.inMemory(this, 40 * MIB);
    const home = join(disk.folder, 'home');
    const acknowledged = new Map<string, string>();
    {
      await using up = await Up.start(home);
      await up.makeVM('first');
      using watcher = await TlsWatcher.open(up.admin, CONFIG_MAPS);
      watcher.read();
      const ballast = join(disk.folder, 'ballast');
      await writeFile(ballast, new Uint8Array(8 * MIB));
      let refused: TlsAnswer | undefined;
      for (let i = 0; refused === undefined && i < 1000; i++) {
        const answer = await up.write(`big-${i}`, BIG);
        if (answer.status === 201) acknowledged.set(`big-${i}`, BIG);
        else refused = answer;
      }
      const { status, reason, message } = JSON.parse(refused?.text ?? '{}');
      assert.deepEqual([refused?.status, status, reason], [507, 'Failure', 'InsufficientStorage'], refused?.text);
      assert.equal(message, 'the disk of the store is full; nothing was written');
      // Nothing else that writes to this disk may bring the process down: its log, its guests' file.
      await fillUp(join(disk.folder, 'last-bytes'));
      // So small a write may find the room that the log has just given back.
      const early = (await up.ask('DELETE', `${VMS}/first`)).status;
      assert.ok([200, 507].includes(early), `${early}`);
      for (let i = 0; i < 20; i++) assert.equal((await up.write('more', BIG)).status, 507);
      const list = JSON.parse((await up.ask('GET', CONFIG_MAPS)).text);
      assert.equal(list.items.length, acknowledged.size);
      assert.equal((await up.ask('GET', '/readyz')).text, 'ok');
      await until('the watch has told all', () => watcher.events === acknowledged.size);

      await rm(ballast);
      await rm(join(disk.folder, 'last-bytes'));
      assert.equal((await up.write('after', 'there is room')).status, 201);
      acknowledged.set('after', 'there is room');
      await until('the watch goes on', () => watcher.events === acknowledged.size);
      if (early === 507) assert.equal((await up.ask('DELETE', `${VMS}/first`)).status, 200);
      await until('the guest goes', async () => (await up.ask('GET', `${VMS}/first`)).status === 404);
      // As a crash at this moment would leave it.
      await up.process.end('SIGKILL');
    }
    assert.deepEqual(integrityOf(join(home, 'state.db')), 'ok');
    await using up = await Up.start(home);
    await up.holds(acknowledged);
  });

  it('on a disk that fails over to read-only refuses writes with 503 and serves on', async function () {
    this.timeout(180_000);
    await using disk = await SmallDisk.onLoop(this, 64 * MIB);
    const home = join(disk.folder, 'home');
    const acknowledged = new Map([['before', BIG]]);
    {
      await using up = await Up.start(home);
      assert.equal((await up.write('before', BIG)).status, 201);
      await disk.fail();
      for (const _ of [1, 2]) {
        const { status, text } = await up.write('during', 'x');
        assert.deepEqual([status, JSON.parse(text).reason], [503, 'ServiceUnavailable'], text);
        assert.match(text, /file system of the store is read-only/);
      }
      assert.equal((await up.ask('GET', `${CONFIG_MAPS}/before`)).status, 200);
      assert.equal((await up.ask('GET', '/readyz')).status, 200);
      await up.process.end('SIGKILL');
    }
    await disk.again();
    await using up = await Up.start(home);
    await up.holds(acknowledged);
  });
});

/** A running `coppice up` and its operator. */
class Up implements AsyncDisposable {
  readonly process: UpProcess;
  readonly admin: AdminConnection;
  readonly #agent: Agent;

  static async start(home: string): Promise<Up> {
    const process = new UpProcess(home, ARGS);
    await process.says(/up in/, 60_000);
    return new Up(process, await adminConnection(home));
  }

  private constructor(process: UpProcess, admin: AdminConnection) {
    this.process = process;
    this.admin = admin;
    this.#agent = new Agent({ ca: admin.ca, keepAlive: true });
  }

  ask(method: string, path: string, object?: object): Promise<TlsAnswer> {
    const { url, token } = this.admin;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    return tlsRequest(`${url}${path}`, { method, agent: this.#agent, headers, ...body });
  }

  write(name: string, text: string): Promise<TlsAnswer> {
    return this.ask('POST', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } });
  }

  async makeVM(name: string): Promise<void> {
    const tenant = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'demo' } };
    const image = { apiVersion: 'coppice.dev/v1', kind: 'Image', metadata: { name: 'tiny' } };
    const spec = { guestOS: 'linux', source: { path: 'tiny' } };
    assert.equal((await this.ask('POST', '/apis/coppice.dev/v1/tenants', tenant)).status, 201);
    const made = await this.ask('POST', '/apis/coppice.dev/v1/images', { ...image, spec });
    assert.equal(made.status, 201, made.text);
    const vm = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec: { image: 'tiny' } };
    await until('the namespace is there', async () => (await this.ask('POST', VMS, vm)).status === 201);
    await until('the VM runs', async () =>
      (await this.ask('GET', `${VMS}/${name}`)).text.includes('"phase":"Running"'),
    );
  }

  async holds(acknowledged: ReadonlyMap<string, string>): Promise<void> {
    const { items } = JSON.parse((await this.ask('GET', CONFIG_MAPS)).text);
    assert.deepEqual(
      new Map(
        items.map((item: { metadata: { name: string }; data: { text: string } }) => [
          item.metadata.name,
          item.data.text,
        ]),
      ),
      new Map([...acknowledged].sort(([a], [b]) => (a < b ? -1 : 1))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.process[Symbol.asyncDispose]();
  }
}

/** Takes the last of a disk. */
async function fillUp(path: string): Promise<void> {
  for (let bytes = MIB; bytes >= 4096; bytes /= 2) {
    await writeFile(path, new Uint8Array(bytes), { flag: 'a' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC') throw error;
    });
  }
}

function integrityOf(path: string): unknown {
  using database = new DatabaseSync(path);
  return database.prepare('PRAGMA integrity_check').get()?.integrity_check;
}
