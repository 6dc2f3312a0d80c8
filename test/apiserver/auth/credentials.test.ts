import assert from 'node:assert/strict';
import { DOCUMENTS } from '../../../apiserver/auth/authorization-table.ts';
import { subresourcesOf } from '../../../apiserver/discovery/verbs.ts';
import type { Credential } from '../../../apiserver/requests/server-request.ts';
import { apiVersionOf } from '../../../resources/meta/resource-id.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';
import { send } from '../../harness/raw.ts';
import { OPERATOR_TOKEN, startTestServer, type TestServer } from '../../harness/server.ts';

const NOBODY: Credential = { kind: 'wire' };
const bearer = (token: string): Credential => ({ kind: 'wire', bearer: token });

describe('credentials', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer({ kinds: [WIDGET, GADGET] });
  });
  after(() => test[Symbol.asyncDispose]());

  /** Every path of the tree, by the kinds served and the index of documents. */
  async function paths(): Promise<string[]> {
    const index = (await send(test.server.app, 'GET', '/')).body as { paths?: string[] };
    const resources = test.server.registry.kinds().flatMap((kind) => {
      const root = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
      const base = `${root}${kind.namespaced ? '/namespaces/x' : ''}/${kind.plural}`;
      return [
        `${root}/${kind.plural}`,
        base,
        `${base}/n`,
        ...subresourcesOf(kind).map(({ name }) => `${base}/n/${name}`),
      ];
    });
    const openAPI = ['/openapi/v3/api/v1', '/openapi/v3/apis/coppice.dev/v1', '/openapi/v9'];
    return [
      '/',
      ...(index.paths ?? []),
      ...openAPI,
      ...resources,
      '/nothing',
      '/apis/none',
      '/console',
      '/%zz',
      '/apis/a/b/../c',
    ];
  }

  it('are asked of every path but a named list, whatever the method', async () => {
    const all = await paths();
    assert.ok(all.length > 50);
    for (const path of all) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const { status } = await send(test.server.app, method, path, { credential: NOBODY });
        const open = ['/version', '/healthz', '/livez', '/readyz'].includes(path);
        assert.equal(status === 401, !open, `${method} ${path} answered ${status}`);
      }
    }
    const open = Object.entries(DOCUMENTS).filter(([, who]) => who === 'anonymous');
    assert.deepEqual(
      open.map(([root]) => root),
      ['version', 'healthz', 'livez', 'readyz'],
    );
  });

  it('say Unauthorized for a wrong token, a certificate beside it or not', async () => {
    const certificate = { commonName: 'operator', organizations: ['coppice:operators'], serial: '' };
    for (const credential of [bearer('wrong'), bearer(''), { kind: 'wire', bearer: 'wrong', certificate } as const]) {
      const { status, body } = await send(test.server.app, 'GET', '/api/v1/namespaces', { credential });
      assert.deepEqual([status, body.reason, body.message], [401, 'Unauthorized', 'Unauthorized']);
    }
    assert.equal(
      (await send(test.server.app, 'GET', '/api/v1/namespaces', { credential: bearer(OPERATOR_TOKEN) })).status,
      200,
    );
  });

  it('of an unknown subject open documents and nothing else', async () => {
    const credential: Credential = {
      kind: 'wire',
      certificate: { commonName: 'eve', organizations: ['x'], serial: '' },
    };
    assert.equal((await send(test.server.app, 'GET', '/apis', { credential })).status, 200);
    const { status, body } = await send(test.server.app, 'GET', '/api/v1/namespaces', { credential });
    assert.equal(status, 403);
    assert.match(body.message ?? '', /^namespaces is forbidden: User "eve" cannot list resource "namespaces"/);
  });
});
