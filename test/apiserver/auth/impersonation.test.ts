import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CONTROLLER_PROCESS,
  controllerIdentity,
  hostIdentity,
  type Identity,
  serviceAccountIdentity,
} from '../../../apiserver/auth/identity.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { listenTestServer, OPERATOR_TOKEN, startTestServer, type TestServer } from '../../harness/server.ts';
import { tlsRequest } from '../../harness/tls-request.ts';

const WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

describe('impersonation', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer();
  });
  after(() => test[Symbol.asyncDispose]());

  const as = (headers: Record<string, string>, identity?: Identity): Promise<RawAnswer> =>
    send(test.server.app, 'POST', WHOAMI, { body: {}, headers, ...(identity === undefined ? {} : { identity }) });
  const whoIs = async (headers: Record<string, string>) => {
    const { status, body, text } = await as(headers);
    assert.equal(status, 201, text);
    return (body.status as { userInfo: object }).userInfo;
  };

  it('makes the operator another, with all that is said of them, and with nothing of their own', async () => {
    assert.deepEqual(
      await whoIs({
        'impersonate-user': 'bob',
        'impersonate-group': 'devs',
        'impersonate-uid': 'u-1',
        'impersonate-extra-acme.com%2fproject': 'p1',
      }),
      {
        username: 'bob',
        uid: 'u-1',
        groups: ['devs', 'system:authenticated'],
        extra: { 'acme.com/project': ['p1'] },
      },
    );
  });

  it('puts a service account in its groups unless others are named, and everybody in the one of everybody', async () => {
    const user = 'system:serviceaccount:red:ci';
    assert.deepEqual(await whoIs({ 'impersonate-user': user }), {
      username: user,
      groups: serviceAccountIdentity('red', 'ci').groups,
    });
    assert.deepEqual(await whoIs({ 'impersonate-user': user, 'impersonate-group': 'g' }), {
      username: user,
      groups: ['g', 'system:authenticated'],
    });
    assert.deepEqual(await whoIs({ 'impersonate-user': 'bob' }), { username: 'bob', groups: ['system:authenticated'] });
  });

  it('gives the rights of whom one is, and takes those one had', async () => {
    const status = async (headers: Record<string, string>, url = '/apis/coppice.dev/v1/vms') =>
      (await send(test.server.app, 'GET', url, { headers })).status;
    assert.equal(await status({ 'impersonate-user': 'bob' }), 403);
    assert.equal(await status({ 'impersonate-user': 'bob', 'impersonate-group': 'system:masters' }), 200);
    assert.equal(await status({ 'impersonate-user': 'bob', 'impersonate-group': 'coppice:operators' }), 200);
    assert.equal(await status({ 'impersonate-user': 'system:controller:placement' }), 403);
    assert.equal(
      await status({ 'impersonate-user': 'system:controller:placement', 'impersonate-group': 'system:controllers' }),
      200,
    );
  });

  it('shows the anonymous only what everybody may see', async () => {
    const headers = { 'impersonate-user': 'system:anonymous' };
    assert.equal((await as(headers)).status, 403);
    assert.equal((await send(test.server.app, 'GET', '/version', { headers })).status, 200);
    const { status, body } = await send(test.server.app, 'GET', '/apis', { headers });
    assert.equal(status, 403);
    assert.equal(body.message, 'forbidden: User "system:anonymous" cannot get path "/apis"');
  });

  it('is for the operator only, whoever is to be impersonated', async () => {
    const askers = [
      controllerIdentity('placement'),
      hostIdentity('mac-1'),
      serviceAccountIdentity('red', 'ci'),
      { user: 'bob', groups: ['system:authenticated'] },
    ];
    for (const asker of askers) {
      for (const user of ['bob', 'operator', asker.user]) {
        assert.equal((await as({ 'impersonate-user': user }, asker)).status, 403, `${asker.user} as ${user}`);
      }
      assert.equal((await send(test.server.app, 'GET', '/version', { identity: asker })).status, 200);
    }
  });

  it('is refused in the words of Kubernetes', async () => {
    const eve = { user: 'eve', groups: ['system:authenticated'] };
    const refusal = async (headers: Record<string, string>) => (await as(headers, eve)).body.message;
    assert.equal(
      await refusal({ 'impersonate-user': 'bob' }),
      'users "bob" is forbidden: User "eve" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
    assert.equal(
      await refusal({ 'impersonate-user': 'system:serviceaccount:red:ci' }),
      'serviceaccounts "ci" is forbidden: User "eve" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "red"',
    );
  });

  it('without a user is a mistake, never nothing', async () => {
    for (const name of ['impersonate-group', 'impersonate-uid', 'impersonate-extra-a']) {
      assert.equal((await as({ [name]: 'x' })).status, 400, name);
    }
    assert.equal((await as({ 'impersonate-user': '' })).status, 400);
  });

  it('takes each header line off the wire as one group, commas and all', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'impersonation-'));
    try {
      await using listening = await listenTestServer(test, folder);
      const answer = await tlsRequest(`${listening.url}${WHOAMI}`, {
        method: 'POST',
        ca: listening.caCert,
        headers: {
          authorization: `Bearer ${OPERATOR_TOKEN}`,
          'impersonate-user': 'bob',
          'impersonate-group': ['cn=devs, ou=acme', 'ops'],
        },
        body: '{}',
      });
      const { userInfo } = (JSON.parse(answer.text) as { status: { userInfo: { groups: string[] } } }).status;
      assert.deepEqual(userInfo.groups, ['cn=devs, ou=acme', 'ops', 'system:authenticated']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('lets a process of controllers be each duty, in the groups of duties, and nobody else', async () => {
    const asker = CONTROLLER_PROCESS;
    const be = (user: string, group?: string, more: Record<string, string> = {}) =>
      as({ 'impersonate-user': user, ...(group === undefined ? {} : { 'impersonate-group': group }), ...more }, asker);
    for (const duty of ['placement', 'election', 'informers']) {
      const answer = await be(`system:controller:${duty}`, 'system:controllers');
      assert.equal(answer.status, 201, answer.text);
    }
    const refused = [
      await be('operator', 'coppice:operators'),
      await be('system:controller:', 'system:controllers'),
      await be('system:controller:placement', 'coppice:operators'),
      await be('system:controller:placement', 'system:masters'),
      await be('system:host:mac-1', 'system:hosts'),
      await be('system:serviceaccount:red:bot'),
      await be('system:controller:placement', 'system:controllers', { 'impersonate-uid': 'u' }),
      await be('system:controller:placement', 'system:controllers', { 'impersonate-extra-a': 'b' }),
    ];
    assert.deepEqual(
      refused.map(({ status }) => status),
      refused.map(() => 403),
    );
  });

  it('leaves a process of controllers no right of its own', async () => {
    const own = (method: string, path: string) => send(test.server.app, method, path, { identity: CONTROLLER_PROCESS });
    for (const path of ['/apis/coppice.dev/v1/vms', '/api/v1/namespaces', '/apis/coordination.k8s.io/v1/leases'])
      assert.equal((await own('GET', path)).status, 403, path);
    assert.equal((await own('DELETE', '/apis/coppice.dev/v1/hosts/mac-1')).status, 403);
    const stranger = { ...CONTROLLER_PROCESS, user: 'somebody' };
    assert.equal((await as({ 'impersonate-user': 'system:controller:placement' }, stranger)).status, 403);
  });
});
