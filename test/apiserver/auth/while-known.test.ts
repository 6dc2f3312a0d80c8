import assert from 'node:assert/strict';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { Tenant } from '../../../resources/kinds/tenant.ts';
import { quiesce } from '../../harness/eventually.ts';
import { RawWatch, send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';

const TENANTS = '/apis/coppice.dev/v1/tenants';

/** Watches of the owner of red, of one of its programs, of the owner of blue and of the operator. */
async function watching() {
  const clock = new ManualClock();
  const held = new AsyncDisposableStack();
  const test = held.use(await startTestServer({ clock }));
  const { app } = test.server;
  const minted = async (url: string) => {
    const { body, text } = await send(app, 'POST', url, { body: {} });
    const { token } = (body.status ?? {}) as { token?: string };
    assert.ok(token !== undefined, text);
    return { kind: 'wire', bearer: token } as const;
  };
  for (const name of ['red', 'blue'])
    await send(app, 'POST', TENANTS, { body: { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name } } });
  const accounts = '/api/v1/namespaces/red/serviceaccounts';
  await send(app, 'POST', accounts, { body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'ci' } } });
  const credentials = {
    red: await minted(`${TENANTS}/red/token`),
    program: await minted(`${accounts}/ci/token`),
    blue: await minted(`${TENANTS}/blue/token`),
    operator: undefined,
  };
  const ended = new Set<string>();
  for (const [who, credential] of Object.entries(credentials)) {
    const namespace = who === 'operator' ? 'red' : who === 'program' ? 'red' : who;
    const url = `/api/v1/namespaces/${namespace}/configmaps?watch=true`;
    const watch = held.use(await RawWatch.open(app, url, credential === undefined ? {} : { credential }));
    watch.rest().then(
      () => ended.add(who),
      () => {},
    );
  }
  return {
    test,
    clock,
    ended,
    async passes(ms: number): Promise<string[]> {
      await clock.advance(ms);
      await quiesce();
      return [...ended].sort();
    },
    tokens: () => minted(`${TENANTS}/red/token`),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

describe('a watch that goes on', () => {
  it('ends within half a minute of its tenant being disabled; those of others go on', async () => {
    await using world = await watching();
    assert.deepEqual(await world.passes(60_000), []);
    await world.test.client.resource<Tenant>(Tenant).patch('red', { spec: { disabled: true } });
    assert.deepEqual(await world.passes(30_000), ['program', 'red']);
  });

  it('ends when another token was made, for whoever came by the one before', async () => {
    await using world = await watching();
    await world.tokens();
    assert.deepEqual(await world.passes(30_000), ['red']);
  });

  it('ends when its tenant is deleted', async () => {
    await using world = await watching();
    await world.test.client.resource<Tenant>(Tenant).delete('red');
    assert.deepEqual(await world.passes(30_000), ['red']);
  });

  it('leaves no timer behind when its reader goes', async () => {
    const world = await watching();
    const { clock } = world;
    await world[Symbol.asyncDispose]();
    await clock.advance(30_000);
    await quiesce();
    assert.equal(clock.waiting, 0);
  });
});
