import assert from 'node:assert/strict';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import type { OperatorToken } from '../../../apiserver/auth/operator-tokens.ts';
import { newServiceAccountKey } from '../../../apiserver/pki/service-account-key.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { send } from '../../harness/raw.ts';
import { OPERATOR_TOKEN, SEALING_KEY, startTestServer, type TestServer } from '../../harness/server.ts';

const WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

describe('keys that change while a server runs', () => {
  let clock: ManualClock;
  let test: TestServer;
  const [one, two] = [newServiceAccountKey(), newServiceAccountKey()];
  beforeEach(async () => {
    clock = new ManualClock();
    test = await startTestServer({ clock, serviceAccountKey: one });
    await send(test.server.app, 'POST', ACCOUNTS, { body: { metadata: { name: 'ci' } } });
  });
  afterEach(() => test[Symbol.asyncDispose]());

  const use = (serviceAccountKey: string, operatorTokens: readonly OperatorToken[] = []) =>
    test.server.keys.use({ operatorTokens, serviceAccountKey, sealingKeys: [SEALING_KEY] });
  const statusOf = async (bearer: string) =>
    (await send(test.server.app, 'POST', WHOAMI, { body: {}, credential: { kind: 'wire', bearer } })).status;
  const mint = async (expirationSeconds = 3600) => {
    const answer = await send(test.server.app, 'POST', `${ACCOUNTS}/ci/token`, {
      body: { spec: { expirationSeconds } },
    });
    return (answer.body.status as { token: string }).token;
  };
  const kidOf = (token: string) =>
    (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid;
  const published = async () => {
    const { text } = await send(test.server.app, 'GET', '/openid/v1/jwks');
    return (JSON.parse(text) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  };

  it('tokens of service accounts: the first key signs, all are trusted and published, and those that go take their tokens along', async () => {
    const old = await mint();
    use(one + two);
    assert.equal(kidOf(await mint()), kidOf(old), 'the next key signs nothing yet');
    use(two + one);
    const fresh = await mint();
    assert.notEqual(kidOf(fresh), kidOf(old));
    assert.deepEqual([await statusOf(old), await statusOf(fresh)], [201, 201]);
    assert.deepEqual(await published(), [kidOf(fresh), kidOf(old)]);
    use(two);
    assert.deepEqual([await statusOf(old), await statusOf(fresh)], [401, 201]);
    assert.deepEqual(await published(), [kidOf(fresh)]);
  });

  it('it is known until when tokens of a key are good, to the hour, on any server', async () => {
    const { signal } = new AbortController();
    const last = (id: string) => test.server.keys.lastToken(id, signal);
    const token = await mint(3600);
    const id = kidOf(token);
    const hour = 3_600_000;
    const ends = Math.ceil((clock.now() + hour) / hour) * hour;
    assert.equal(await last(id), ends);
    await mint(600);
    assert.equal(await last(id), ends, 'a shorter one changes nothing');
    await mint(48 * 3600);
    assert.equal(await last(id), Math.ceil((clock.now() + 48 * hour) / hour) * hour);
    assert.equal(await last('never'), 0);
    await using other = await startTestServer({ clock, serviceAccountKey: one, store: test.store });
    assert.equal(await other.server.keys.lastToken(id, signal), await last(id));
  });

  it('the operator’s token: the old one is refused from then on, or when its time is over', async () => {
    assert.equal(await statusOf(OPERATOR_TOKEN), 201);
    use(one, [{ hash: tokenHash('new') }, { hash: tokenHash(OPERATOR_TOKEN), untilMs: clock.now() + 60_000 }]);
    assert.deepEqual([await statusOf('new'), await statusOf(OPERATOR_TOKEN)], [201, 201]);
    await clock.advance(60_000);
    assert.deepEqual([await statusOf('new'), await statusOf(OPERATOR_TOKEN)], [201, 401]);
    use(one, [{ hash: tokenHash('newer') }]);
    assert.deepEqual([await statusOf('new'), await statusOf('newer')], [401, 201]);
  });
});
