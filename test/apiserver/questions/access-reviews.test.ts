import assert from 'node:assert/strict';
import {
  controllerIdentity,
  hostIdentity,
  type Identity,
  OPERATOR,
  serverIdentity,
  serviceAccountIdentity,
} from '../../../apiserver/auth/identity.ts';
import { subresourcesOf } from '../../../apiserver/discovery/verbs.ts';
import type { Kind, Verb } from '../../../resources/meta/define-kind.ts';
import { apiVersionOf } from '../../../resources/meta/resource-id.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';
import { aHost, anImage, DIGEST } from '../../harness/builders.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const GROUP = '/apis/authorization.k8s.io/v1';
const SELF = `${GROUP}/selfsubjectaccessreviews`;
const BOB: Identity = { user: 'bob', groups: ['system:authenticated'] };
const CI = serviceAccountIdentity('red', 'ci');
const METHODS: Readonly<Record<Verb, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};
const READS: readonly Verb[] = ['get', 'list', 'watch'];
const OF_ONE: readonly Verb[] = ['get', 'update', 'patch', 'delete'];

interface Attributes {
  readonly namespace?: string;
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly fieldSelector?: object;
}

describe('access reviews', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer({ kinds: [WIDGET, GADGET] });
    const make = async (url: string, body: object) => {
      const made = await send(test.server.app, 'POST', url, { body });
      assert.equal(made.status, 201, made.text);
    };
    const coppice = { apiVersion: 'coppice.dev/v1' };
    await make('/apis/coppice.dev/v1/tenants', { ...coppice, kind: 'Tenant', metadata: { name: 'red' } });
    await make('/apis/coppice.dev/v1/images', {
      ...coppice,
      kind: 'Image',
      metadata: { name: 'tiny' },
      spec: anImage().spec,
    });
    await send(test.server.app, 'PATCH', '/apis/coppice.dev/v1/images/tiny/status', {
      body: { status: { digest: DIGEST } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    for (const hostName of ['mac-1', 'mac-2']) {
      await make('/apis/coppice.dev/v1/hosts', { ...coppice, kind: 'Host', metadata: { name: hostName } });
      await send(test.server.app, 'PATCH', `/apis/coppice.dev/v1/hosts/${hostName}/status`, {
        body: { status: aHost().status },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      await make('/apis/coppice.dev/v1/namespaces/red/vms', {
        ...coppice,
        kind: 'VM',
        metadata: { name: `on-${hostName}` },
        spec: { image: 'tiny', hostName, epoch: 1 },
      });
    }
  });
  after(() => test[Symbol.asyncDispose]());

  const review = async (identity: Identity, spec: object): Promise<boolean> => {
    const { status, body, text } = await send(test.server.app, 'POST', SELF, { identity, body: { spec } });
    assert.equal(status, 201, text);
    const answer = body.status as { allowed: boolean; denied?: boolean };
    assert.equal(answer.denied, undefined);
    return answer.allowed;
  };
  const may = (identity: Identity, resourceAttributes: Attributes) => review(identity, { resourceAttributes });
  const mayGet = (identity: Identity, path: string, verb = 'get') =>
    review(identity, { nonResourceAttributes: { path, verb } });

  /** Whether the server does it: whatever it says but that this user cannot. */
  async function does(identity: Identity, kind: Kind, attributes: Attributes): Promise<boolean> {
    const { namespace, verb, subresource, name } = attributes;
    const root = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
    const parts = [root, ...(namespace === undefined ? [] : ['namespaces', namespace]), kind.plural, name, subresource];
    const url = `${parts.filter((part) => part !== undefined).join('/')}?dryRun=All${verb === 'watch' ? '&watch=true' : ''}`;
    const stop = new AbortController();
    const { status, body } = await test.server.app({
      method: METHODS[verb as Verb],
      path: url.split('?')[0] ?? '',
      query: new URLSearchParams(url.split('?')[1]),
      headers: { 'content-type': 'application/x-none' },
      body: async () => new Uint8Array(),
      signal: stop.signal,
      credential: { kind: 'identity', identity },
    });
    stop.abort();
    if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
    const message = body instanceof Uint8Array ? Buffer.from(body).toString() : '';
    return !(status === 403 && message.includes(`cannot ${verb} resource`));
  }

  it('agree with what the server does, for every kind, verb and subresource', async () => {
    const identities = [
      OPERATOR,
      controllerIdentity('placement'),
      controllerIdentity('garbage'),
      hostIdentity('mac-1'),
      CI,
      BOB,
    ];
    let [yes, no] = [0, 0];
    for (const kind of test.server.registry.kinds()) {
      const { group, plural: resource } = kind;
      const spaces = kind.namespaced ? ['red', 'default', undefined] : [undefined];
      const own = kind.verbs.map((verb) => ({ verb, subresource: undefined as string | undefined }));
      const parts = subresourcesOf(kind).flatMap(({ name, verbs }) => {
        const stream = kind.streams.some((each) => each.name === name);
        return (stream ? ['create' as const] : (verbs as Verb[])).map((verb) => ({ verb, subresource: name }));
      });
      for (const identity of identities) {
        for (const namespace of spaces) {
          for (const { verb, subresource } of [...own, ...parts]) {
            const onOne = subresource !== undefined || OF_ONE.includes(verb);
            if (onOne && kind.namespaced && namespace === undefined) continue;
            // Over all namespaces at once there is only reading: the path of anything else does not exist.
            if (!READS.includes(verb) && kind.namespaced && namespace === undefined) continue;
            // Another host's VMs are 404 rather than 403; they have a test of their own.
            if (onOne && resource === 'vms' && identity.user.startsWith('system:host')) continue;
            const attributes: Attributes = {
              verb,
              group,
              resource,
              ...(namespace === undefined ? {} : { namespace }),
              ...(subresource === undefined ? {} : { subresource }),
              ...(onOne ? { name: 'mac-1' } : {}),
            };
            const allowed = await may(identity, attributes);
            const what = `${identity.user} ${verb} ${resource}/${subresource ?? ''} in ${namespace}`;
            assert.equal(await does(identity, kind, attributes), allowed, what);
            allowed ? yes++ : no++;
          }
        }
      }
    }
    assert.ok(yes > 200 && no > 200, `${yes} and ${no}`);
  }).timeout(30_000);

  it('give a service account the user kinds of its namespace, and nothing of another or of none', async () => {
    const widgets = { verb: 'patch', group: 'demo.example.com', resource: 'widgets' };
    assert.equal(await may(CI, { ...widgets, namespace: 'red' }), true);
    assert.equal(await may(CI, { ...widgets, namespace: 'default' }), false);
    assert.equal(await may(CI, widgets), false);
    const gadgets = { verb: 'get', group: 'demo.example.com', resource: 'gadgets' };
    assert.equal(await may(CI, { ...gadgets, namespace: 'red' }), false, 'in no namespace, whatever one says');
    const namespaces = { verb: 'get', resource: 'namespaces' };
    assert.equal(await may(CI, { ...namespaces, name: 'red', namespace: 'red' }), true);
    assert.equal(await may(CI, { ...namespaces, name: 'default' }), false);
    assert.equal(await may(CI, namespaces), false);
    assert.equal(await may(CI, { verb: 'get', resource: 'secrets', namespace: 'red' }), false);
    assert.equal(await may(CI, { verb: 'get', group: 'coppice.dev', resource: 'vms', namespace: 'red' }), false);
  });

  it('give a host the VMs bound to it', async () => {
    const vms = { group: 'coppice.dev', resource: 'vms' };
    const host = hostIdentity('mac-1');
    const named = (name: string) => may(host, { ...vms, verb: 'get', namespace: 'red', name });
    assert.deepEqual([await named('on-mac-1'), await named('on-mac-2'), await named('none')], [true, false, false]);
    const requirement = (value: string) => ({ key: 'spec.hostName', operator: 'In', values: [value] });
    const list = (fieldSelector: object) => may(host, { ...vms, verb: 'list', fieldSelector });
    assert.equal(await may(host, { ...vms, verb: 'list' }), false);
    assert.equal(await list({ requirements: [requirement('mac-1')] }), true);
    assert.equal(await list({ requirements: [requirement('mac-2')] }), false);
    assert.equal(await list({ rawSelector: 'spec.hostName=mac-1' }), true);
    assert.equal(await list({ rawSelector: 'spec.hostName!=mac-1' }), false);
    assert.equal(await list({ rawSelector: 'no,such=(' }), false);
  });

  it('deny the operator the sockets on which only a nodelet or another server speaks, and nothing else', async () => {
    const hosts = { verb: 'create', group: 'coppice.dev', resource: 'hosts', name: 'mac-1' };
    for (const [subresource, speaker] of [
      ['control', hostIdentity('mac-1')],
      ['dialback', hostIdentity('mac-1')],
      ['relay', serverIdentity('a')],
    ] as const) {
      for (const other of [OPERATOR, hostIdentity('mac-1'), serverIdentity('a')])
        assert.equal(await may(other, { ...hosts, subresource }), other.user === speaker.user, subresource);
    }
    assert.equal(await may(OPERATOR, { ...hosts, verb: 'update', subresource: 'status' }), true);
  });

  it('take * for all there is, which only who may do everything has', async () => {
    const all = { verb: '*', group: '*', resource: '*' };
    assert.equal(await may(OPERATOR, all), true);
    for (const identity of [controllerIdentity('garbage'), hostIdentity('mac-1'), CI, BOB]) {
      assert.equal(await may(identity, all), false);
      assert.equal(await may(identity, { verb: '*', resource: 'events', namespace: 'red' }), false);
    }
  });

  it('know nothing of what is not served, but that the operator may', async () => {
    for (const resource of ['pods', 'constructor', '__proto__', '']) {
      assert.equal(await may(OPERATOR, { verb: 'get', resource }), true);
      assert.equal(await may(CI, { verb: 'get', resource, namespace: 'red' }), false);
      assert.equal(await may(CI, { verb: resource, resource: 'events', namespace: 'red' }), false);
    }
    assert.equal(await may(OPERATOR, { verb: 'impersonate', resource: 'users' }), true);
    assert.equal(await may(controllerIdentity('garbage'), { verb: 'impersonate', resource: 'users' }), false);
  });

  it('judge paths that are no resources', async () => {
    assert.deepEqual([await mayGet(BOB, '/healthz'), await mayGet(BOB, '/apis/coppice.dev')], [true, true]);
    assert.deepEqual([await mayGet(BOB, '/metrics'), await mayGet(OPERATOR, '/metrics')], [false, true]);
    assert.deepEqual([await mayGet(BOB, '/healthz', 'post'), await mayGet(OPERATOR, '/x', 'post')], [false, true]);
    assert.deepEqual(
      [await mayGet(BOB, '*'), await mayGet(BOB, '/*'), await mayGet(OPERATOR, '*')],
      [false, false, true],
    );
  });

  it('of others say what those would be told', async () => {
    const ask = async (spec: object, url = `${GROUP}/subjectaccessreviews`) => {
      const { status, body, text } = await send(test.server.app, 'POST', url, { body: { spec } });
      assert.equal(status, 201, text);
      return (body.status as { allowed: boolean }).allowed;
    };
    const resourceAttributes = { verb: 'create', resource: 'events', namespace: 'red' };
    assert.equal(await ask({ resourceAttributes, user: CI.user }), true);
    assert.equal(await ask({ resourceAttributes, user: CI.user, groups: CI.groups }), true);
    assert.equal(await ask({ resourceAttributes, user: 'bob' }), false);
    assert.equal(await ask({ resourceAttributes, user: 'bob', groups: ['coppice:operators'] }), true);
    assert.equal(await ask({ resourceAttributes, groups: ['system:masters'] }), true);
    const local = `${GROUP}/namespaces/red/localsubjectaccessreviews`;
    assert.equal(await ask({ resourceAttributes, user: CI.user }, local), true);
    assert.equal(await ask({ resourceAttributes, user: 'bob' }, local), false);
  });

  it('are about others for the operator only', async () => {
    const spec = { resourceAttributes: { verb: 'get', resource: 'events', namespace: 'red' }, user: 'bob' };
    for (const identity of [CI, BOB, hostIdentity('mac-1'), controllerIdentity('garbage')]) {
      for (const url of [`${GROUP}/subjectaccessreviews`, `${GROUP}/namespaces/red/localsubjectaccessreviews`]) {
        assert.equal((await send(test.server.app, 'POST', url, { identity, body: { spec } })).status, 403);
      }
    }
  });

  it('are refused when they ask for nothing, for two things, or about nobody', async () => {
    const causes = async (url: string, body: object) => {
      const answer = await send(test.server.app, 'POST', url, { body });
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.details?.kind, undefined);
      return answer.body.details?.causes?.map(({ field }) => field);
    };
    const resourceAttributes = { verb: 'get', resource: 'events' };
    const nonResourceAttributes = { verb: 'get', path: '/' };
    assert.deepEqual(await causes(SELF, {}), ['spec.resourceAttributes']);
    assert.deepEqual(await causes(SELF, { spec: { resourceAttributes, nonResourceAttributes } }), [
      'spec.nonResourceAttributes',
    ]);
    assert.deepEqual(await causes(SELF, { spec: { resourceAttributes }, metadata: { name: 'x' } }), ['metadata']);
    const both = { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'Exists' }] };
    for (const [fieldSelector, field] of [
      [both, 'rawSelector'],
      [{}, 'requirements'],
    ] as const) {
      assert.deepEqual(await causes(SELF, { spec: { resourceAttributes: { ...resourceAttributes, fieldSelector } } }), [
        `spec.resourceAttributes.fieldSelector.${field}`,
      ]);
    }
    assert.deepEqual(await causes(`${GROUP}/subjectaccessreviews`, { spec: { resourceAttributes } }), ['spec.user']);
    assert.deepEqual(
      await causes(`${GROUP}/namespaces/red/localsubjectaccessreviews`, {
        spec: { user: 'bob', resourceAttributes: { ...resourceAttributes, namespace: 'default' } },
      }),
      ['spec.resourceAttributes.namespace'],
    );
    assert.deepEqual(
      await causes(`${GROUP}/namespaces/red/localsubjectaccessreviews`, {
        spec: { user: 'bob', nonResourceAttributes },
      }),
      ['spec.nonResourceAttributes'],
    );
  });

  it('are read as strictly as any object, and are no collection', async () => {
    const typed = { spec: { resourceAttributes: { verb: 7 } } };
    assert.equal((await send(test.server.app, 'POST', SELF, { body: typed })).status, 400);
    const unknown = { spec: { resourceAttributes: { verb: 'get', colour: 'red' } } };
    const warned = await send(test.server.app, 'POST', SELF, { body: unknown });
    assert.match(String(warned.headers.warning), /unknown field .*spec\.resourceAttributes\.colour/);
    assert.equal(
      (await send(test.server.app, 'POST', `${SELF}?fieldValidation=Strict`, { body: unknown })).status,
      400,
    );
    assert.equal((await send(test.server.app, 'POST', `${SELF}?dryRun=Some`, { body: unknown })).status, 422);
    for (const method of ['GET', 'PUT', 'DELETE'])
      assert.equal((await send(test.server.app, method, SELF, {})).status, 405, method);
    assert.equal((await send(test.server.app, 'GET', `${SELF}/x`)).status, 404);
    assert.equal((await send(test.server.app, 'POST', `${GROUP}/localsubjectaccessreviews`, { body: {} })).status, 405);
  });
});
