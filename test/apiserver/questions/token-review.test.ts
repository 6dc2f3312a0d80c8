import assert from 'node:assert/strict';
import { serviceAccountIdentity } from '../../../apiserver/auth/identity.ts';
import { send } from '../../harness/raw.ts';
import { OPERATOR_TOKEN, startTestServer, type TestServer } from '../../harness/server.ts';

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const ISSUER = 'https://kubernetes.default.svc';

interface Verdict {
  readonly authenticated?: boolean;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly audiences?: readonly string[];
  readonly error?: string;
}

describe('token reviews', () => {
  let test: TestServer;
  before(async () => {
    test = await startTestServer();
    await send(test.server.app, 'POST', ACCOUNTS, { body: { metadata: { name: 'ci' } } });
  });
  after(() => test[Symbol.asyncDispose]());

  const review = async (spec: object): Promise<Verdict> => {
    const { status, body, text } = await send(test.server.app, 'POST', REVIEWS, { body: { spec } });
    assert.equal(status, 201, text);
    assert.deepEqual(body.spec, spec);
    return body.status as Verdict;
  };
  const mint = async (audiences: readonly string[]) => {
    const { body } = await send(test.server.app, 'POST', `${ACCOUNTS}/ci/token`, { body: { spec: { audiences } } });
    return (body.status as { token: string }).token;
  };

  it('say whose a token is', async () => {
    const operator = await review({ token: OPERATOR_TOKEN });
    assert.deepEqual([operator.authenticated, operator.user.username], [true, 'operator']);
    const { authenticated, user, audiences } = await review({ token: await mint([]) });
    assert.deepEqual([authenticated, audiences], [true, [ISSUER]]);
    assert.deepEqual([user.username, user.groups], Object.values(serviceAccountIdentity('default', 'ci')));
  });

  it('say which of the audiences asked for it is meant for', async () => {
    const token = await mint(['vault', 'other']);
    const { authenticated, audiences } = await review({ token, audiences: ['vault', 'registry'] });
    assert.deepEqual([authenticated, audiences], [true, ['vault']]);
    for (const spec of [
      { token },
      { token, audiences: ['registry'] },
      { token: OPERATOR_TOKEN, audiences: ['vault'] },
    ]) {
      const verdict = await review(spec);
      assert.deepEqual([verdict.authenticated, verdict.user], [undefined, {}]);
      assert.match(verdict.error ?? '', /meant for somebody else/);
    }
  });

  it('say of a bad token that it is bad, and do not repeat it', async () => {
    const { authenticated, user, error } = await review({ token: 'hunter2' });
    assert.deepEqual([authenticated, user], [undefined, {}]);
    assert.ok(error !== undefined && !error.includes('hunter2'));
  });

  it('need a token, and are for the operator', async () => {
    const empty = await send(test.server.app, 'POST', REVIEWS, { body: { spec: {} } });
    assert.deepEqual([empty.status, empty.body.reason], [400, 'BadRequest']);
    const identity = serviceAccountIdentity('default', 'ci');
    assert.equal(
      (await send(test.server.app, 'POST', REVIEWS, { identity, body: { spec: { token: 'x' } } })).status,
      403,
    );
  });
});
