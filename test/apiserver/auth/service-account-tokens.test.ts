import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { newServiceAccountKey } from '../../../apiserver/pki/service-account-key.ts';
import type { Credential } from '../../../apiserver/requests/server-request.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { defineKind } from '../../../resources/meta/define-kind.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ISSUER = 'https://kubernetes.default.svc';
const bearer = (token: string): Credential => ({ kind: 'wire', bearer: token });

const SECRET = defineKind({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  origin: 'core',
  schema: { type: 'object' },
});

type Claims = Record<string, unknown>;
const partOf = (token: string, index: number): Claims =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Claims;
const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

describe('tokens of service accounts', () => {
  let test: TestServer;
  let clock: ManualClock;
  const key = newServiceAccountKey();

  beforeEach(async () => {
    clock = new ManualClock();
    test = await startTestServer({ clock, serviceAccountKey: key });
    await make('ci');
  });
  afterEach(() => test[Symbol.asyncDispose]());

  const make = async (name: string) => {
    const made = await send(test.server.app, 'POST', ACCOUNTS, { body: { metadata: { name } } });
    assert.equal(made.status, 201, made.text);
    return String(made.body.metadata?.uid);
  };
  const ask = (spec: object, name = 'ci'): Promise<RawAnswer> =>
    send(test.server.app, 'POST', `${ACCOUNTS}/${name}/token`, { body: { spec } });
  const mint = async (spec: object = {}): Promise<string> => {
    const answer = await ask(spec);
    assert.equal(answer.status, 201, answer.text);
    return (answer.body.status as { token: string }).token;
  };
  const whoami = (token: string) =>
    send(test.server.app, 'POST', WHOAMI, { body: {}, credential: bearer(token), headers: {} });
  const statusOf = async (token: string) => (await whoami(token)).status;
  const forged = (header: object, claims: object, signature: (input: string) => Buffer) => {
    const input = `${encoded(header)}.${encoded(claims)}`;
    return `${input}.${signature(input).toString('base64url')}`;
  };

  it('say whose they are, in the claims that Kubernetes puts there', async () => {
    const token = await mint();
    const now = clock.now() / 1000;
    const { jti, ...claims } = partOf(token, 1);
    const { uid } = (claims['kubernetes.io'] as { serviceaccount: { uid: string } }).serviceaccount;
    assert.deepEqual(claims, {
      iss: ISSUER,
      sub: 'system:serviceaccount:default:ci',
      aud: [ISSUER],
      iat: now,
      nbf: now,
      exp: now + 3600,
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'ci', uid } },
    });
    const { body } = await whoami(token);
    assert.deepEqual((body.status as { userInfo: object }).userInfo, {
      username: 'system:serviceaccount:default:ci',
      uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${String(jti)}`] },
    });
  });

  it('end when they said, also those that were good a moment ago', async () => {
    const token = await mint({ expirationSeconds: 600 });
    await clock.advance(599_000);
    assert.equal(await statusOf(token), 201);
    await clock.advance(10_000);
    assert.equal(await statusOf(token), 401);
  });

  it('die with the account, and do not come back with one of its name', async () => {
    const token = await mint();
    assert.equal(await statusOf(token), 201);
    await send(test.server.app, 'DELETE', `${ACCOUNTS}/ci`);
    assert.equal(await statusOf(token), 401);
    await make('ci');
    assert.equal(await statusOf(token), 401);
    assert.equal(await statusOf(await mint()), 201);
  });

  it('outlive an account that is going only by a minute', async () => {
    const patch = { body: { metadata: { finalizers: ['example.com/hold'] } } };
    const type = { 'content-type': 'application/merge-patch+json' };
    await send(test.server.app, 'PATCH', `${ACCOUNTS}/ci`, { ...patch, headers: type });
    const token = await mint();
    await send(test.server.app, 'DELETE', `${ACCOUNTS}/ci`);
    await clock.advance(59_000);
    assert.equal(await statusOf(token), 201);
    await clock.advance(2_000);
    assert.equal(await statusOf(token), 401);
  });

  it('for other audiences are not for this server', async () => {
    assert.equal(await statusOf(await mint({ audiences: ['vault'] })), 401);
    assert.equal(await statusOf(await mint({ audiences: ['vault', ISSUER] })), 201);
  });

  it('are good on a server that starts again with the same key, and on none with another', async () => {
    await using store = await MemoryStore.open({ ids: systemIds });
    await using first = await startTestServer({ clock, store, serviceAccountKey: key });
    await send(first.server.app, 'POST', ACCOUNTS, { body: { metadata: { name: 'x' } } });
    const made = await send(first.server.app, 'POST', `${ACCOUNTS}/x/token`, { body: {} });
    const { token } = made.body.status as { token: string };
    for (const [serviceAccountKey, wanted] of [
      [key, 201],
      [newServiceAccountKey(), 401],
    ] as const) {
      await using again = await startTestServer({ clock, store, serviceAccountKey });
      const { status } = await send(again.server.app, 'POST', WHOAMI, { body: {}, credential: bearer(token) });
      assert.equal(status, wanted);
    }
  });

  it('are forged in vain', async () => {
    const good = await mint();
    const claims = partOf(good, 1);
    const header = partOf(good, 0);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const byOther = (input: string) => sign('sha256', Buffer.from(input), { key: other, dsaEncoding: 'ieee-p1363' });
    const ours = (input: string) => sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
    const publicPem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
    const nothing = () => Buffer.alloc(0);
    const account = claims['kubernetes.io'] as object;
    const [head, body, signature] = good.split('.');
    assert.equal(await statusOf(forged(header, claims, ours)), 201, 'the forger knows how');
    const bad: Record<string, string> = {
      'another key': forged(header, claims, byOther),
      'no signature': forged({ alg: 'none' }, claims, nothing),
      'an empty signature': `${head}.${body}.`,
      'the public key as a secret': forged({ alg: 'HS256' }, claims, (input) =>
        createHmac('sha256', publicPem).update(input).digest(),
      ),
      'other claims': `${head}.${encoded({ ...claims, exp: 9e9 })}.${signature}`,
      'another issuer': forged(header, { ...claims, iss: 'https://elsewhere' }, ours),
      'no end': forged(header, { ...claims, exp: undefined }, ours),
      'not yet': forged(header, { ...claims, nbf: clock.now() / 1000 + 60 }, ours),
      'another subject': forged(header, { ...claims, sub: 'system:serviceaccount:default:root' }, ours),
      'no account': forged(header, { ...claims, 'kubernetes.io': undefined }, ours),
      'a bond to nothing': forged(header, { ...claims, 'kubernetes.io': { ...account, secret: 'x' } }, ours),
      'a critical header': forged({ ...header, crit: ['b64'], b64: false }, claims, ours),
      'two parts': `${head}.${body}`,
      'no parts': '..',
    };
    for (const [what, token] of Object.entries(bad)) assert.equal(await statusOf(token), 401, what);
  });

  it('live an hour, ten minutes at least and 2^32 seconds at most', async () => {
    const specOf = async (spec: object) => (await ask(spec)).body.spec;
    assert.deepEqual(await specOf({}), { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null });
    assert.equal((await specOf({ expirationSeconds: 2 ** 32 }))?.expirationSeconds, 2 ** 32);
    for (const expirationSeconds of [0, -1, 599, 2 ** 32 + 1]) {
      const { status, body } = await ask({ expirationSeconds });
      assert.deepEqual([status, body.details?.causes?.[0]?.field], [422, 'spec.expirationSeconds']);
    }
    assert.equal((await ask({ expirationSeconds: '600' })).status, 400);
  });

  it('are made for an account that is there, by that name, in that namespace', async () => {
    assert.equal((await ask({}, 'none')).status, 404);
    const named = (metadata: object) => send(test.server.app, 'POST', `${ACCOUNTS}/ci/token`, { body: { metadata } });
    assert.equal((await named({ name: 'ci', namespace: 'default' })).status, 201);
    assert.equal((await named({ name: 'other' })).status, 422);
    assert.equal((await named({ namespace: 'other' })).status, 400);
    const { body } = await ask({});
    assert.deepEqual([body.metadata?.name, body.metadata?.namespace], ['ci', 'default']);
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      assert.equal((await send(test.server.app, method, `${ACCOUNTS}/ci/token`)).status, 405, method);
  });

  it('may be bound to a Secret, and die with it', async () => {
    test.server.registry.add(SECRET);
    const secrets = '/api/v1/namespaces/default/secrets';
    const create = () => send(test.server.app, 'POST', secrets, { body: { metadata: { name: 'bond' } } });
    const uid = String((await create()).body.metadata?.uid);
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 'bond' };
    const token = await mint({ boundObjectRef });
    assert.equal(await statusOf(await mint({ boundObjectRef: { ...boundObjectRef, uid } })), 201);
    assert.equal((await ask({ boundObjectRef: { ...boundObjectRef, uid: 'other' } })).status, 409);
    assert.equal(await statusOf(token), 201);
    await send(test.server.app, 'DELETE', `${secrets}/bond`);
    assert.equal(await statusOf(token), 401);
    await create();
    assert.equal(await statusOf(token), 401);
  });

  it('cannot be bound to what is not there', async () => {
    const bound = (kind: string, apiVersion: string) => ask({ boundObjectRef: { kind, apiVersion, name: 'x' } });
    assert.equal((await bound('Secret', 'v1')).status, 404);
    const pod = await bound('Pod', 'v1');
    assert.deepEqual([pod.status, pod.body.message], [400, 'cannot bind token to object of type /v1, Kind=Pod']);
    const deployment = await bound('Deployment', 'apps/v1');
    assert.equal(deployment.body.message, 'cannot bind token to object of type apps/v1, Kind=Deployment');
  });

  it('can be checked by others, with the keys the server tells', async () => {
    const host = { host: 'fleet.example:6443' };
    const { body } = await send(test.server.app, 'GET', '/.well-known/openid-configuration', { headers: host });
    const { issuer, jwks_uri } = body as { issuer?: string; jwks_uri?: string };
    assert.deepEqual([issuer, jwks_uri], [ISSUER, 'https://fleet.example:6443/openid/v1/jwks']);
    const keys = await send(test.server.app, 'GET', '/openid/v1/jwks');
    assert.equal(keys.headers['content-type'], 'application/jwk-set+json');
    const { createLocalJWKSet, jwtVerify } = await import('jose');
    const set = createLocalJWKSet(JSON.parse(keys.text) as Parameters<typeof createLocalJWKSet>[0]);
    const { payload } = await jwtVerify(await mint({ audiences: ['vault'] }), set, {
      audience: 'vault',
      issuer: ISSUER,
      currentDate: new Date(clock.now()),
    });
    assert.equal(payload.sub, 'system:serviceaccount:default:ci');
    assert.doesNotMatch(keys.text, /"d":/);
  });
});
