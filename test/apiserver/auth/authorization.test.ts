import assert from 'node:assert/strict';
import { AUTHORIZATION, USER_KIND } from '../../../apiserver/auth/authorization-table.ts';
import {
  controllerIdentity,
  hostIdentity,
  type Identity,
  serviceAccountIdentity,
} from '../../../apiserver/auth/identity.ts';
import { subresourcesOf, verbsOf } from '../../../apiserver/discovery/verbs.ts';
import { DUTIES } from '../../../controllers/duties.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import type { Kind } from '../../../resources/meta/define-kind.ts';
import { VERBS } from '../../../resources/meta/define-kind.ts';
import { resourceId } from '../../../resources/meta/resource-id.ts';
import { WIDGET } from '../../builders/widget.ts';
import { aHost, anImage, DIGEST } from '../../harness/builders.ts';
import { type RawAnswer, type RawWish, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

/** Every route discovery offers: its row in the table, its verb, and whether it is a stream (`get` of which is `create`). */
function routesOf(kind: Kind): { row: string; verb: string }[] {
  const own = verbsOf(kind).map((verb) => ({ row: resourceId(kind), verb }));
  const streams = new Set(kind.streams.map((stream) => stream.name));
  const parts = subresourcesOf(kind).flatMap(({ name, verbs }) =>
    verbs
      .filter((verb) => !(streams.has(name) && verb === 'get'))
      .map((verb) => ({ row: `${resourceId(kind)}/${name}`, verb })),
  );
  return [...own, ...parts];
}

const missingIn = (table: Readonly<Record<string, Readonly<Record<string, unknown>>>>): string[] =>
  BUILT_IN_KINDS.flatMap(routesOf)
    .filter(({ row, verb }) => table[row]?.[verb] === undefined)
    .map(({ row, verb }) => `${verb} ${row}`);

describe('the authorization table', () => {
  it('has a cell for every kind, verb, subresource and stream that discovery offers', () => {
    assert.deepEqual(missingIn(AUTHORIZATION), []);
    for (const verb of VERBS) assert.notEqual(USER_KIND[verb], undefined, `users' kinds: ${verb}`);
  });

  it('would be found wanting if any row were removed', () => {
    for (const row of Object.keys(AUTHORIZATION)) {
      const { [row]: _, ...without } = AUTHORIZATION;
      assert.notDeepEqual(missingIn(without), [], `${row} is not demanded by any route`);
    }
  });

  it('speaks only of what is served, and of duties there are', () => {
    const routes = new Set(BUILT_IN_KINDS.flatMap(routesOf).map(({ row, verb }) => `${row} ${verb}`));
    const duties = new Set(
      [...Object.keys(DUTIES), 'garbage', 'host-presence', 'informers', 'apiserver', 'election', 'resealer'].map(
        (duty) => `controller:${duty}`,
      ),
    );
    const known = new Set<string>([
      'operator',
      'joiner',
      'host',
      'enroller',
      'apiserver',
      'serviceaccount',
      'owner',
      'controllers',
      'authenticated',
    ]);
    for (const [row, cells] of Object.entries({ ...AUTHORIZATION })) {
      for (const [verb, roles] of Object.entries(cells)) {
        assert.ok(routes.has(`${row} ${verb}`), `${row} ${verb} is not served`);
        for (const role of roles) {
          assert.ok(known.has(role) || duties.has(role), `nobody is ${role}`);
        }
      }
    }
  });
});

const VM_OF = (host: string | undefined) => ({
  image: 'tiny',
  ...(host === undefined ? {} : { hostName: host, epoch: 1 }),
});

describe('what identities may do', () => {
  let test: TestServer;
  let uids: Record<string, string>;
  const ask = (identity: Identity, method: string, url: string, body?: unknown, type?: string): Promise<RawAnswer> => {
    const wish: RawWish = { identity, ...(body === undefined ? {} : { body }) };
    return send(
      test.server.app,
      method,
      url,
      type === undefined ? wish : { ...wish, headers: { 'content-type': type } },
    );
  };
  const MERGE = 'application/merge-patch+json';
  const HOSTS = '/apis/coppice.dev/v1/hosts';
  const VMS = '/apis/coppice.dev/v1/namespaces/red/vms';
  const mac1 = () => hostIdentity('mac-1', uids['mac-1']);

  before(async () => {
    test = await startTestServer({ kinds: [WIDGET] });
    uids = {};
    const make = async (url: string, object: object) => {
      const answer = await send(test.server.app, 'POST', url, { body: object });
      assert.equal(answer.status, 201, answer.text);
      return answer.body;
    };
    await make('/apis/coppice.dev/v1/tenants', {
      apiVersion: 'coppice.dev/v1',
      kind: 'Tenant',
      metadata: { name: 'red' },
    });
    const { spec } = anImage();
    await make('/apis/coppice.dev/v1/images', {
      apiVersion: 'coppice.dev/v1',
      kind: 'Image',
      metadata: { name: 'tiny' },
      spec,
    });
    const found = { status: { digest: DIGEST } };
    await send(test.server.app, 'PATCH', '/apis/coppice.dev/v1/images/tiny/status', {
      body: found,
      headers: { 'content-type': MERGE },
    });
    for (const name of ['mac-1', 'mac-2']) {
      const made = await make(HOSTS, { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name } });
      uids[name] = String(made.metadata?.uid);
      const status = await ask(
        hostIdentity(name),
        'PATCH',
        `${HOSTS}/${name}/status`,
        { status: aHost().status },
        MERGE,
      );
      assert.equal(status.status, 200, status.text);
    }
    for (const [name, host] of [
      ['on-1', 'mac-1'],
      ['on-2', 'mac-2'],
      ['nowhere', undefined],
    ] as const) {
      await make(VMS, { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec: VM_OF(host) });
    }
  });
  after(() => test[Symbol.asyncDispose]());

  it('lets a host read its own Host and not another, which it cannot tell from one that is not there', async () => {
    assert.equal((await ask(mac1(), 'GET', `${HOSTS}/mac-1`)).status, 200);
    assert.equal((await ask(mac1(), 'GET', `${HOSTS}/mac-2`)).status, 403);
    assert.equal((await ask(mac1(), 'GET', HOSTS)).status, 403);
    const own = await ask(mac1(), 'GET', `${HOSTS}?fieldSelector=metadata.name%3Dmac-1`);
    assert.deepEqual(
      own.body.items?.map((host) => host.metadata.name),
      ['mac-1'],
    );
  });

  it('lets a host list and watch VMs only with the selector of its own', async () => {
    for (const query of ['', '?watch=true']) {
      assert.equal((await ask(mac1(), 'GET', `/apis/coppice.dev/v1/vms${query}`)).status, 403);
    }
    assert.equal(
      (await ask(mac1(), 'GET', '/apis/coppice.dev/v1/vms?fieldSelector=spec.hostName%3Dmac-2')).status,
      403,
    );
    assert.equal(
      (await ask(mac1(), 'GET', '/apis/coppice.dev/v1/vms?fieldSelector=spec.hostName!%3Dmac-2')).status,
      403,
    );
    const own = await ask(mac1(), 'GET', '/apis/coppice.dev/v1/vms?fieldSelector=spec.hostName%3Dmac-1');
    assert.deepEqual(
      own.body.items?.map((vm) => vm.metadata.name),
      ['on-1'],
    );
  });

  it("answers 404 for VMs that are another host's, whatever the verb, in the words of one that is not there", async () => {
    const missing = await ask(mac1(), 'GET', `${VMS}/nothing`);
    for (const name of ['on-2', 'nowhere']) {
      const got = await ask(mac1(), 'GET', `${VMS}/${name}`);
      assert.equal(got.status, 404);
      assert.equal(got.body.message, missing.body.message?.replace('nothing', name));
      assert.equal(
        (await ask(mac1(), 'PATCH', `${VMS}/${name}/status`, { status: { phase: 'Failed' } }, MERGE)).status,
        404,
      );
      assert.equal(
        (await ask(mac1(), 'PATCH', `${VMS}/${name}`, { metadata: { finalizers: null } }, MERGE)).status,
        404,
      );
    }
    assert.equal((await ask(mac1(), 'DELETE', `${VMS}/on-1`)).status, 403);
  });

  it('lets a host write the status and the finalizers of its VMs, and nothing else of them', async () => {
    const said = await ask(mac1(), 'PATCH', `${VMS}/on-1/status`, { status: { phase: 'Running' } }, MERGE);
    assert.equal(said.status, 200, said.text);
    for (const patch of [
      { spec: { power: 'Stopped' } },
      { spec: { hostName: 'mac-2' } },
      { metadata: { labels: { a: 'b' } } },
    ]) {
      const refused = await ask(mac1(), 'PATCH', `${VMS}/on-1`, patch, MERGE);
      assert.equal(refused.status, 403, JSON.stringify(patch));
      assert.equal(refused.body.details?.causes?.[0]?.reason, 'FieldWriter');
    }
    const finalizers = { metadata: { finalizers: ['coppice.dev/guest', 'coppice.dev/other'] } };
    assert.equal((await ask(mac1(), 'PATCH', `${VMS}/on-1`, finalizers, MERGE)).status, 200);
  });

  it('lets a host make its own Host with an empty spec, and write only its status', async () => {
    const host = (name: string, spec?: object) => ({
      apiVersion: 'coppice.dev/v1',
      kind: 'Host',
      metadata: { name },
      spec,
    });
    const mac9 = hostIdentity('mac-9');
    assert.equal((await ask(mac9, 'POST', HOSTS, host('mac-8'))).status, 404);
    assert.equal((await ask(mac9, 'POST', HOSTS, host('mac-9', { cordoned: false }))).status, 403);
    assert.equal((await ask(mac9, 'POST', HOSTS, host('mac-9'))).status, 201);
    assert.equal((await ask(mac9, 'PATCH', `${HOSTS}/mac-9`, { spec: { cordoned: true } }, MERGE)).status, 403);
    assert.equal((await ask(mac9, 'PATCH', `${HOSTS}/mac-9/status`, { status: { arch: 'arm64' } }, MERGE)).status, 200);
    assert.equal((await ask(mac1(), 'PATCH', `${HOSTS}/mac-9/status`, { status: { arch: 'x' } }, MERGE)).status, 403);
  });

  it('refuses a host whose certificate is bound to an earlier Host of its name, or to one that is gone', async () => {
    const earlier = hostIdentity('mac-1', '00000000-0000-4000-8000-000000000000');
    for (const url of [`${HOSTS}/mac-1`, `${VMS}/on-1`, '/apis/coppice.dev/v1/images']) {
      assert.equal((await ask(earlier, 'GET', url)).status, 403, url);
    }
    assert.equal((await ask(hostIdentity('mac-7', 'some-uid'), 'GET', '/apis/coppice.dev/v1/images')).status, 403);
  });

  it('lets each duty write the status that is its own, and no sister do it', async () => {
    const statuses = { tenant: 'tenants/red', image: 'images/tiny', 'host-liveness': 'hosts/mac-1' };
    for (const [writer, path] of Object.entries(statuses)) {
      for (const duty of ['tenant', 'image', 'host-liveness', 'placement', 'garbage']) {
        const answer = await ask(
          controllerIdentity(duty),
          'PATCH',
          `/apis/coppice.dev/v1/${path}/status`,
          { status: {} },
          MERGE,
        );
        assert.equal(answer.status, duty === writer ? 200 : 403, `${duty} writes ${path}`);
      }
    }
  });

  it('lets placement and host-liveness write what a VM is beside its nodelet, and no other duty', async () => {
    for (const duty of ['tenant', 'image', 'host-liveness', 'placement', 'vm-lifecycle', 'garbage']) {
      const answer = await ask(controllerIdentity(duty), 'PATCH', `${VMS}/on-1/status`, { status: {} }, MERGE);
      assert.equal(answer.status, ['placement', 'host-liveness'].includes(duty) ? 200 : 403, duty);
    }
    const spec = await ask(controllerIdentity('host-liveness'), 'PATCH', `${VMS}/on-1`, { spec: {} }, MERGE);
    assert.equal(spec.status, 403);
  });

  it('lets placement bind a VM, and no other duty', async () => {
    const bind = { spec: { hostName: 'mac-2', epoch: 1 } };
    assert.equal((await ask(controllerIdentity('vm-lifecycle'), 'PATCH', `${VMS}/nowhere`, bind, MERGE)).status, 403);
    const bound = await ask(controllerIdentity('placement'), 'PATCH', `${VMS}/nowhere?dryRun=All`, bind, MERGE);
    assert.equal(bound.status, 200, bound.text);
  });

  it("gives duties that empty namespaces users' kinds to delete, and nobody else", async () => {
    const widget = '/apis/demo.example.com/v1/namespaces/red/widgets/none';
    assert.equal((await ask(controllerIdentity('garbage'), 'DELETE', widget)).status, 404);
    assert.equal((await ask(controllerIdentity('placement'), 'DELETE', widget)).status, 403);
    assert.equal((await ask(mac1(), 'GET', widget)).status, 403);
  });

  it('lets a service account work in its own namespace, and nowhere else', async () => {
    const ci = serviceAccountIdentity('red', 'ci');
    const at = (namespace: string) => `/apis/demo.example.com/v1/namespaces/${namespace}/widgets`;
    const widget = (namespace: string) => ({
      apiVersion: 'demo.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace },
      spec: { size: 'small' },
    });
    const made = await ask(ci, 'POST', at('red'), widget('red'));
    assert.equal(made.status, 201, made.text);
    assert.equal((await ask(ci, 'GET', `${at('red')}/w`)).status, 200);
    assert.equal((await ask(ci, 'PATCH', `${at('red')}/w`, { spec: { size: 'large' } }, MERGE)).status, 200);
    assert.equal((await ask(ci, 'GET', at('red'))).status, 200);
    const refusals = await Promise.all([
      ask(ci, 'POST', at('default'), widget('default')),
      ask(ci, 'GET', `${at('default')}/w`),
      ask(ci, 'GET', at('default')),
      ask(ci, 'GET', '/apis/demo.example.com/v1/widgets'),
      ask(ci, 'DELETE', at('red')),
      ask(ci, 'GET', '/api/v1/namespaces'),
      ask(ci, 'GET', '/api/v1/namespaces/default'),
      ask(ci, 'GET', VMS),
      ask(ci, 'POST', '/api/v1/namespaces/red/serviceaccounts/ci/token', {}),
    ]);
    assert.deepEqual(
      refusals.map(({ status }) => status),
      refusals.map(() => 403),
    );
    assert.equal((await ask(ci, 'GET', '/api/v1/namespaces/red')).status, 200);
    const held = { metadata: { finalizers: ['coppice.dev/guest'] } };
    assert.equal((await ask(ci, 'PATCH', `${at('red')}/w`, held, MERGE)).status, 403);
    assert.equal((await ask(ci, 'DELETE', `${at('red')}/w`)).status, 200);
  });

  it('knows nobody by a group alone: the name must fit', async () => {
    for (const user of ['system:host:', 'anybody', 'system:controller:', 'system:serviceaccount:red:']) {
      for (const group of ['system:hosts', 'system:controllers', 'system:serviceaccounts']) {
        assert.equal((await ask({ user, groups: [group] }, 'GET', '/apis/coppice.dev/v1/images')).status, 403);
      }
    }
  });
});
