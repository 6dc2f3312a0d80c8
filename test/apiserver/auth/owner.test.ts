import assert from 'node:assert/strict';
import { AUTHORIZATION, USER_KIND } from '../../../apiserver/auth/authorization-table.ts';
import { type Ask, authorize } from '../../../apiserver/auth/authorize.ts';
import { ownerIdentity } from '../../../apiserver/auth/identity.ts';
import { subresourcesOf } from '../../../apiserver/discovery/verbs.ts';
import type { Rules } from '../../../apiserver/questions/rules.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { type Kind, VERBS, type Verb } from '../../../resources/meta/define-kind.ts';
import { apiVersionOf, resourceId } from '../../../resources/meta/resource-id.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';
import { aHost, anImage, DIGEST } from '../../harness/builders.ts';
import { type RawAnswer, RawWatch, type RawWish, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const RED = ownerIdentity('red');
const API = '/apis/coppice.dev/v1';
const MERGE = 'application/merge-patch+json';
const KINDS: readonly Kind[] = [...BUILT_IN_KINDS, WIDGET];
/** Of which one object is the tenant's. */
const NAMED = ['coppice.dev/tenants', 'core/namespaces'];
const COMMON = ['coppice.dev/images', 'coppice.dev/policies', 'coppice.dev/pricelists'];

/** What a role is told of an ask: `yes`, or the reason of the refusal. */
function told(kind: Kind, verb: Verb, subresource: string | undefined, namespace: string | undefined, name?: string) {
  const ask: Ask = { kind, verb, subresource, namespace, name, fields: new Map() };
  try {
    authorize(RED, ask);
    return 'yes';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.reason;
  }
}

/** Every cell of the table that is about a kind that is served. */
function* cells(): Iterable<{
  kind: Kind;
  sub: string | undefined;
  verb: Verb;
  isOwners: boolean;
  isEverybodys: boolean;
}> {
  for (const kind of KINDS) {
    for (const sub of [undefined, ...subresourcesOf(kind).map(({ name }) => name)]) {
      const row =
        kind.origin === 'user' ? USER_KIND : AUTHORIZATION[resourceId(kind) + (sub === undefined ? '' : `/${sub}`)];
      for (const verb of VERBS) {
        const cell = row?.[verb] ?? [];
        yield { kind, sub, verb, isOwners: cell.includes('owner'), isEverybodys: cell.includes('authenticated') };
      }
    }
  }
}

describe('the rights of an owner', () => {
  it('are those of the table, in its namespace', () => {
    let owned = 0;
    for (const { kind, sub, verb, isOwners, isEverybodys } of cells()) {
      if (!kind.namespaced || isEverybodys) continue;
      owned += Number(isOwners);
      assert.equal(
        told(kind, verb, sub, 'red', 'x'),
        isOwners ? 'yes' : 'Forbidden',
        `${verb} ${resourceId(kind)}/${sub}`,
      );
    }
    assert.ok(owned > 60, `${owned} cells`);
  });

  it('are none in any other namespace, which looks as one that is not there, whatever is asked', () => {
    for (const { kind, sub, verb, isEverybodys } of cells()) {
      if (!kind.namespaced || isEverybodys) continue;
      assert.equal(told(kind, verb, sub, 'blue', 'x'), 'NotFound', `${verb} ${resourceId(kind)}/${sub}`);
      assert.equal(told(kind, verb, sub, undefined), 'Forbidden', `${verb} ${resourceId(kind)}/${sub}`);
    }
  });

  it('are reads of its own tenant and namespace and of what all may know, of what has no namespace', () => {
    for (const { kind, sub, verb, isOwners, isEverybodys } of cells()) {
      if (kind.namespaced || isEverybodys) continue;
      const id = resourceId(kind);
      const what = `${verb} ${id}/${sub}`;
      if (NAMED.includes(id)) assert.equal(told(kind, verb, sub, undefined, 'blue'), 'NotFound', what);
      assert.equal(told(kind, verb, sub, undefined, 'red'), isOwners ? 'yes' : 'Forbidden', what);
      if (!isOwners) continue;
      assert.ok(NAMED.includes(id) || COMMON.includes(id), `${what} is an owner's`);
      assert.ok(['get', 'list', 'watch'].includes(verb), `${what} is an owner's`);
    }
    assert.equal(told(GADGET, 'get', undefined, undefined, 'x'), 'Forbidden');
  });

  it('are more than those of a program in its namespace, but for telling what happened', () => {
    for (const { kind, sub, verb, isOwners } of cells()) {
      const row =
        kind.origin === 'user' ? USER_KIND : AUTHORIZATION[resourceId(kind) + (sub === undefined ? '' : `/${sub}`)];
      const reads = ['get', 'list', 'watch'].includes(verb);
      if (kind.plural === 'events' && !reads) assert.ok(!isOwners, `${verb} ${resourceId(kind)}`);
      else if (row?.[verb]?.includes('serviceaccount')) assert.ok(isOwners, `${verb} ${resourceId(kind)}`);
    }
  });
});

describe('an owner', () => {
  let test: TestServer;
  const as = (method: string, url: string, body?: object, type?: string): Promise<RawAnswer> => {
    const wish: RawWish = { identity: RED, ...(body === undefined ? {} : { body }) };
    return send(
      test.server.app,
      method,
      url,
      type === undefined ? wish : { ...wish, headers: { 'content-type': type } },
    );
  };
  const make = async (url: string, object: object, status = 201) => {
    const answer = await send(test.server.app, 'POST', url, { body: object });
    assert.equal(answer.status, status, answer.text);
  };
  const vm = (name: string) => ({
    apiVersion: 'coppice.dev/v1',
    kind: 'VM',
    metadata: { name },
    spec: { image: 'tiny' },
  });
  const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

  before(async () => {
    test = await startTestServer({ kinds: [WIDGET, GADGET] });
    const { spec } = anImage();
    await make(`${API}/images`, { apiVersion: 'coppice.dev/v1', kind: 'Image', metadata: { name: 'tiny' }, spec });
    const found = { body: { status: { digest: DIGEST } }, headers: { 'content-type': MERGE } };
    await send(test.server.app, 'PATCH', `${API}/images/tiny/status`, found);
    await make(`${API}/hosts`, { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' }, spec: {} });
    const status = { body: { status: aHost().status }, headers: { 'content-type': MERGE } };
    await send(test.server.app, 'PATCH', `${API}/hosts/mac-1/status`, status);
    for (const name of ['red', 'blue']) {
      await make(`${API}/tenants`, { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name } });
      await make(`${API}/namespaces/${name}/vms`, vm('web'));
      await make(`/api/v1/namespaces/${name}/configmaps`, map('m'));
    }
  });
  after(() => test[Symbol.asyncDispose]());

  const names = ({ body }: RawAnswer) =>
    body.items?.map(({ metadata: { namespace = '', name } }) => `${namespace}/${name}`);

  it('lists over all namespaces what is in its own', async () => {
    assert.deepEqual(names(await as('GET', `${API}/vms`)), ['red/web']);
    assert.deepEqual(names(await as('GET', `${API}/vms?limit=1`)), ['red/web']);
    assert.deepEqual(names(await as('GET', '/api/v1/configmaps')), ['red/m']);
    assert.deepEqual(names(await as('GET', '/api/v1/namespaces')), ['/red']);
    assert.deepEqual(names(await as('GET', `${API}/tenants`)), ['/red']);
    assert.deepEqual(names(await as('GET', `${API}/tenants?fieldSelector=metadata.name%3Dblue`)), []);
    assert.deepEqual(names(await as('GET', '/apis/demo.example.com/v1/widgets')), []);
  });

  it('watches over all namespaces what happens in its own', async () => {
    const urls = [`${API}/vms?watch=true`, `${API}/tenants?watch=true`, '/api/v1/namespaces?watch=true'];
    for (const url of urls) {
      await using watch = await RawWatch.open(test.server.app, url, { identity: RED });
      const [first] = await watch.take(1);
      assert.equal(first?.object.metadata?.name, url.includes('/vms') ? 'web' : 'red');
      for (const name of ['blue', 'red']) {
        const body = { metadata: { labels: { touched: `${urls.indexOf(url)}` } } };
        const at = {
          vms: `${API}/namespaces/${name}/vms/web`,
          tenants: `${API}/tenants/${name}`,
          ns: `/api/v1/namespaces/${name}`,
        };
        const touched = url.includes('/vms') ? at.vms : url.includes('tenants') ? at.tenants : at.ns;
        const { status, text } = await send(test.server.app, 'PATCH', touched, {
          body,
          headers: { 'content-type': MERGE },
        });
        assert.equal(status, 200, text);
      }
      const [next] = await watch.take(1);
      const { name, namespace } = next?.object.metadata ?? {};
      assert.equal(namespace ?? name, 'red');
    }
  });

  it('is answered on every route of another tenant as on that of one that is not there', async () => {
    let routes = 0;
    const asked = async (method: string, route: (tenant: string) => string, body?: (tenant: string) => object) => {
      const there = await as(method, route('blue'), body?.('blue'), method === 'PATCH' ? MERGE : undefined);
      const nowhere = await as(method, route('nobody'), body?.('nobody'), method === 'PATCH' ? MERGE : undefined);
      // What no route takes is refused before anybody looks whose it is.
      assert.ok([404, 405].includes(there.status), `${method} ${route('blue')}: ${there.text}`);
      assert.equal(there.text, nowhere.text.replaceAll('nobody', 'blue'), `${method} ${route('blue')}`);
      routes += Number(there.status === 404);
    };
    for (const kind of test.server.registry.kinds()) {
      if (!kind.namespaced || !kind.stored) continue;
      const root = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
      const all = (tenant: string) => `${root}/namespaces/${tenant}/${kind.plural}`;
      const object = (namespace: string) => ({
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
        metadata: { name: 'web', namespace },
      });
      if (kind.verbs.includes('create')) await asked('POST', all, object);
      await asked('GET', all);
      await asked('GET', (tenant) => `${all(tenant)}?watch=true`);
      if (kind.verbs.includes('deletecollection')) await asked('DELETE', all);
      const parts = ['', ...subresourcesOf(kind).map(({ name }) => `/${name}`)];
      for (const part of parts) {
        const one = (tenant: string) => `${all(tenant)}/web${part}`;
        await asked('GET', one);
        await asked('POST', one, object);
        for (const method of ['PUT', 'PATCH']) await asked(method, one, object);
      }
      await asked('DELETE', (tenant) => `${all(tenant)}/web`);
    }
    for (const one of [
      (tenant: string) => `/api/v1/namespaces/${tenant}`,
      (tenant: string) => `${API}/tenants/${tenant}`,
    ]) {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
        await asked(method, one, (name) => ({ metadata: { name } }));
      await asked('GET', (tenant) => `${one(tenant)}/status`);
    }
    await asked(
      'POST',
      (tenant) => `${API}/tenants/${tenant}/token`,
      () => ({}),
    );
    assert.ok(routes > 80, `${routes} routes`);
  });

  it('works in its namespace as a user of kubectl does', async () => {
    const at = '/api/v1/namespaces/red';
    const answers = [
      await as('POST', `${API}/namespaces/red/vms`, vm('mine')),
      await as('PATCH', `${API}/namespaces/red/vms/mine`, { spec: { power: 'Stopped' } }, MERGE),
      await as('GET', `${API}/namespaces/red/vms/mine/status`),
      await as('POST', `${API}/namespaces/red/leases`, {
        apiVersion: 'coppice.dev/v1',
        kind: 'Lease',
        metadata: { name: 'ci' },
        spec: {},
      }),
      await as('PATCH', `${API}/namespaces/red/leases/ci`, { spec: { duration: '48h' } }, MERGE),
      await as('DELETE', `${API}/namespaces/red/leases/ci`),
      await as('POST', `${at}/configmaps`, map('mine')),
      await as('POST', `${at}/secrets`, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's' },
        stringData: { a: 'b' },
      }),
      await as('GET', `${at}/secrets/s`),
      await as('POST', `${at}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'ci' } }),
      await as('POST', `${at}/serviceaccounts/ci/token`, { spec: {} }),
      await as('GET', `${at}/events`),
      await as('GET', at),
      await as('GET', `${API}/tenants/red`),
      await as('DELETE', `${API}/namespaces/red/vms/mine`),
    ];
    for (const { status, text } of answers) assert.ok(status < 300, text);
  });

  it('reads images, prices and what of the policy is about tenants, and no hosts', async () => {
    assert.deepEqual(names(await as('GET', `${API}/images`)), ['/tiny']);
    assert.equal((await as('GET', `${API}/pricelists/default`)).status, 200);
    const policy = await as('GET', `${API}/policies/default`);
    assert.deepEqual(Object.keys(policy.body.spec ?? {}).sort(), [
      'exclusiveLeasedHosts',
      'minLeaseHours',
      'requireLeaseForMacOS',
      'strandedVolumeRetention',
    ]);
    assert.equal(policy.body.metadata?.managedFields, undefined);
    const listed = await as('GET', `${API}/policies`);
    assert.ok(!listed.text.includes('scrubHookTimeout') && listed.text.includes('minLeaseHours'), listed.text);
    assert.equal((await as('GET', `${API}/policies?watch=true`)).status, 403);
    for (const url of [`${API}/hosts`, `${API}/hosts/mac-1`, `${API}/hosts/none`])
      assert.equal((await as('GET', url)).status, 403, url);
  });

  it('sets nothing that is an operator’s or a duty’s', async () => {
    const lease = (spec: object) => ({ apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata: { name: 'x' }, spec });
    for (const spec of [{ allowBusy: true }, { anyHost: true }, { release: { force: true } }]) {
      const { status, text } = await as('POST', `${API}/namespaces/red/leases`, lease(spec));
      assert.equal(status, 403, text);
    }
    const at = `${API}/namespaces/red/vms/web`;
    const refusals = [
      await as('PATCH', at, { spec: { hostName: 'mac-1', epoch: 1 } }, MERGE),
      await as('PATCH', at, { metadata: { finalizers: null } }, MERGE),
      await as('PATCH', `${at}/status`, { status: { phase: 'Running' } }, MERGE),
      await as('PATCH', `${API}/tenants/red`, { spec: { quota: { maxVMs: 1000 } } }, MERGE),
      await as('DELETE', `${API}/tenants/red`),
      await as('PATCH', '/api/v1/namespaces/red', { metadata: { labels: { a: 'b' } } }, MERGE),
      await as('POST', `${API}/tenants`, { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'green' } }),
    ];
    for (const { status, text } of refusals) assert.equal(status, 403, text);
    const impersonating = await send(test.server.app, 'GET', `${API}/vms`, {
      identity: RED,
      headers: { 'impersonate-user': 'operator', 'impersonate-group': 'coppice:operators' },
    });
    assert.equal(impersonating.status, 403);
  });

  it('is told the same when it asks what it may', async () => {
    const may = async (resourceAttributes: object) => {
      const body = { spec: { resourceAttributes } };
      const { body: answer } = await as('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        ...body,
      });
      return (answer.status as { allowed: boolean }).allowed;
    };
    const vms = { group: 'coppice.dev', resource: 'vms' };
    assert.deepEqual(
      [
        await may({ ...vms, verb: 'create', namespace: 'red' }),
        await may({ ...vms, verb: 'list' }),
        await may({ ...vms, verb: 'create', subresource: 'exec', name: 'web', namespace: 'red' }),
        await may({ ...vms, verb: 'create', namespace: 'blue' }),
        await may({ ...vms, verb: 'delete' }),
        await may({ group: 'coppice.dev', resource: 'hosts', verb: 'list' }),
        await may({ group: 'coppice.dev', resource: 'tenants', verb: 'get', name: 'red' }),
        await may({ group: 'coppice.dev', resource: 'tenants', verb: 'get', name: 'blue' }),
      ],
      [true, true, true, false, false, false, true, false],
    );
    const rules = async (namespace: string) => {
      const question = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
      return (await as('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', question)).body.status as Rules;
    };
    const own = (await rules('red')).resourceRules;
    for (const { verbs, apiGroups, resources, resourceNames } of own) {
      for (const verb of verbs)
        for (const path of resources) {
          const [resource, subresource] = path.split('/');
          const name = resourceNames?.[0];
          const allowed = await may({ namespace: 'red', verb, group: apiGroups[0], resource, subresource, name });
          assert.ok(allowed, `${verb} ${path}`);
        }
    }
    const says = (list: Rules['resourceRules'], resource: string) =>
      list.some(({ resources }) => resources.includes(resource));
    assert.ok(says(own, 'vms/exec') && says(own, 'leases') && says(own, 'secrets') && !says(own, 'hosts'));
    assert.ok(!says((await rules('blue')).resourceRules, 'vms'));
    const me = await as('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    assert.equal((me.body.status as { userInfo: { username: string } }).userInfo.username, 'system:tenant:red');
  });
});
