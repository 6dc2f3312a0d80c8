import assert from 'node:assert/strict';
import type { App } from '../../../apiserver/requests/server-request.ts';
import type { Store, StoreEvent } from '../../../apiserver/store/store.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { aHost } from '../../harness/builders.ts';
import { etcdForEach } from '../../harness/etcd-for-each.ts';
import type { EtcdServer } from '../../harness/etcd-server.ts';
import { createVM, makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { type Place, twoFarServers, twoServersOn } from '../../harness/two-servers.ts';
import { until } from '../../harness/until.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const ROOT = '/apis/coppice.dev/v1';
const COUNT = 40;

describe('the life of a tenant between two servers', function () {
  this.timeout(120_000);

  describe('over a store that is far away', () => {
    suite(twoFarServers);
  });

  describe('over etcd', () => {
    let etcd: EtcdServer;
    etcdForEach((started) => {
      etcd = started;
    });
    suite(() => twoServersOn(etcd));
  });
});

function suite(start: () => Promise<Place>): void {
  for (const at of [3, 17, 31]) {
    it(`gives no VM a host once its tenant is disabled (after ${at} bindings were asked for)`, async () => {
      await using place = await start();
      await makeQuota(place.app(0), 100);
      const host = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' } };
      await ok(send(place.app(0), 'POST', `${ROOT}/hosts`, { body: host }));
      await ok(
        patch(place.app(0), `${ROOT}/hosts/mac-1/status`, { status: aHost({ vcpus: 4_000, memory: '8Ti' }).status }),
      );
      for (let i = 0; i < COUNT; i++) await ok(createVM(place.app(i), `vm-${i}`));
      const asked: Promise<RawAnswer>[] = [];
      for (let i = 0; i < COUNT; i++) {
        if (i === at) asked.push(patch(place.app(i), `${ROOT}/tenants/red`, { spec: { disabled: true } }));
        asked.push(patch(place.app(i + 1), `${VMS_URL}/vm-${i}`, { spec: { hostName: 'mac-1', epoch: 1 } }));
        if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (const { status, body, text } of await Promise.all(asked)) {
        if (status === 200 || status === 503) continue;
        assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'TenantDisabled'], text);
      }
      let disabled = false;
      for await (const { key, object } of history(place.store)) {
        if (key === 'objects/coppice.dev/tenants/red') disabled = (object as Tenant).spec.disabled === true;
        const isBound = key.startsWith('objects/coppice.dev/vms/') && (object as VM).spec.hostName !== undefined;
        assert.ok(!(disabled && isBound), `${key} was bound after its tenant was disabled`);
      }
      assert.ok(disabled);
    });

    it(`takes nothing into the namespace of a tenant once that is deleted (after ${at} creates were asked for)`, async () => {
      await using place = await start();
      await makeQuota(place.app(0), 100);
      const maps = '/api/v1/namespaces/red/configmaps';
      const asked: Promise<RawAnswer>[] = [];
      for (let i = 0; i < COUNT; i++) {
        if (i === at) asked.push(send(place.app(i), 'DELETE', `${ROOT}/tenants/red`));
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `m-${i}` } };
        asked.push(send(place.app(i + 1), 'POST', maps, { body }));
        if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (const { status, body, text } of await Promise.all(asked)) {
        if (status < 300 || status === 503) continue;
        assert.deepEqual([status, body.details?.causes?.[0]?.reason], [403, 'NamespaceTerminating'], text);
      }
      let deleted = false;
      for await (const { key, object } of history(place.store)) {
        if (key === 'objects/coppice.dev/tenants/red') deleted = object?.metadata.deletionTimestamp !== undefined;
        assert.ok(!(deleted && key.startsWith('objects/core/configmaps/red/')), `${key} was made after the deletion`);
      }
      assert.ok(deleted);
    });
  }

  it('never leaves a tenant in a namespace that goes', async () => {
    await using place = await start();
    for (let round = 0; round < 12; round++) {
      const name = `team-${round}`;
      const labels = round % 2 === 0 ? {} : { 'coppice.dev/tenant': name };
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
      await ok(send(place.app(0), 'POST', '/api/v1/namespaces', { body: namespace }));
      const seen = async () => (await send(place.app(1), 'GET', `/api/v1/namespaces/${name}`)).status === 200;
      await until('the other server has seen it', seen);
      const tenant = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name } };
      const both = [
        () => send(place.app(0), 'POST', `${ROOT}/tenants`, { body: tenant }),
        () => send(place.app(1), 'DELETE', `/api/v1/namespaces/${name}`),
      ];
      const answers = await Promise.all((round % 4 < 2 ? both : both.toReversed()).map((ask) => ask()));
      assert.deepEqual(
        answers.map(({ status }) => (status < 300 ? 'done' : status)).sort(),
        [403, 'done'],
        JSON.stringify(answers),
      );
    }
  });
}

/** What was put into the store, in its order. */
async function* history(
  store: Store,
): AsyncIterable<{ readonly key: string; readonly object: KubeObject | undefined }> {
  const stop = new AbortController();
  const latest = (await store.latest?.()) ?? store.revision();
  for await (const { revision, events } of store.watch(0, stop.signal)) {
    for (const event of events) yield { key: event.key, object: objectIn(event) };
    if (revision >= latest) return;
  }
}

function objectIn(event: StoreEvent): KubeObject | undefined {
  if (event.type !== 'put' || !event.key.startsWith('objects/')) return undefined;
  const text = Buffer.from(event.value).toString('utf8');
  return text.startsWith('{') ? (JSON.parse(text) as KubeObject) : undefined;
}

const patch = (app: App, url: string, body: object) => send(app, 'PATCH', url, { body, headers: MERGE });

async function ok(answer: Promise<RawAnswer>): Promise<void> {
  const { status, text } = await answer;
  assert.ok(status < 300, text);
}
