import assert from 'node:assert/strict';
import {
  controllerIdentity,
  hostIdentity,
  type Identity,
  OPERATOR,
  serviceAccountIdentity,
} from '../../../apiserver/auth/identity.ts';
import type { Rules } from '../../../apiserver/questions/rules.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const GROUP = '/apis/authorization.k8s.io/v1';
const RULES = `${GROUP}/selfsubjectrulesreviews`;
const BOB: Identity = { user: 'bob', groups: ['system:authenticated'] };
const CI = serviceAccountIdentity('default', 'ci');

describe('the rules review', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer({ kinds: [WIDGET, GADGET] });
  });
  after(() => test[Symbol.asyncDispose]());

  const rules = async (identity: Identity, namespace = 'default'): Promise<Rules> => {
    const { status, body, text } = await send(test.server.app, 'POST', RULES, {
      identity,
      body: { spec: { namespace } },
    });
    assert.equal(status, 201, text);
    assert.deepEqual(body.spec, {});
    return body.status as Rules;
  };
  const SELF_ONLY = [
    { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    {
      verbs: ['create'],
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    },
  ];

  it('says of the operator: everything', async () => {
    assert.deepEqual(await rules(OPERATOR), {
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
    });
  });

  it('says of somebody unknown: questions about themselves, and documents', async () => {
    const { resourceRules, nonResourceRules, incomplete } = await rules(BOB);
    assert.deepEqual(resourceRules, SELF_ONLY);
    assert.equal(incomplete, false);
    assert.deepEqual(nonResourceRules[0]?.verbs, ['get', 'head']);
    const paths = nonResourceRules[0]?.nonResourceURLs ?? [];
    for (const path of ['/', '/apis', '/apis/*', '/healthz', '/version', '/openid/*'])
      assert.ok(paths.includes(path), path);
    assert.ok(!paths.includes('/healthz/*'));
  });

  it('says of a service account what it may in its own namespace, and elsewhere nothing', async () => {
    const { resourceRules } = await rules(CI);
    const widgets = resourceRules.find(({ apiGroups }) => apiGroups.includes('demo.example.com'));
    assert.deepEqual(widgets, {
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
      apiGroups: ['demo.example.com'],
      resources: ['widgets', 'widgets/status', 'widgets/scale'],
    });
    const own = { verbs: ['get'], apiGroups: [''], resources: ['namespaces'], resourceNames: ['default'] };
    assert.deepEqual(
      resourceRules.find(({ resources }) => resources.includes('namespaces')),
      own,
    );
    assert.deepEqual((await rules(CI, 'coppice-system')).resourceRules, [own, ...SELF_ONLY]);
  });

  it('says of a host what it may by name, and that there is more', async () => {
    const { resourceRules, incomplete, evaluationError } = await rules(hostIdentity('mac-1'));
    const host = resourceRules.find(({ resources }) => resources.includes('hosts/status'));
    assert.deepEqual(host?.resourceNames, ['mac-1']);
    assert.ok(!resourceRules.some(({ resources }) => resources.includes('vms')), 'no VM is bound to it');
    assert.equal(incomplete, true);
    assert.match(evaluationError ?? '', /spec\.hostName=mac-1/);
  });

  it('has no rule that an access review denies', async () => {
    for (const identity of [CI, BOB, hostIdentity('mac-1'), controllerIdentity('garbage')]) {
      for (const { verbs, apiGroups, resources, resourceNames } of (await rules(identity)).resourceRules) {
        for (const verb of verbs)
          for (const path of resources) {
            const [resource, subresource] = path.split('/');
            const name = resourceNames?.[0];
            const resourceAttributes = { namespace: 'default', verb, group: apiGroups[0], resource, subresource, name };
            const { body } = await send(test.server.app, 'POST', `${GROUP}/selfsubjectaccessreviews`, {
              identity,
              body: { spec: { resourceAttributes } },
            });
            assert.deepEqual(body.status, { allowed: true }, `${identity.user} ${verb} ${path}`);
          }
      }
    }
  });

  it('needs a namespace', async () => {
    for (const body of [{}, { spec: {} }, { spec: { namespace: '' } }]) {
      const answer = await send(test.server.app, 'POST', RULES, { body });
      assert.deepEqual([answer.status, answer.body.message], [400, 'no namespace on request']);
    }
  });
});
