import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { CHANNEL_PROTOCOL } from '../../../resources/streams/channel-frames.ts';
import { send } from '../../harness/raw.ts';
import { tlsRequest } from '../../harness/tls-request.ts';
import { EXEC } from './host-with-web.ts';
import { closeOf, LOGS, messageOf, refusalOf, StreamWorld } from './stream-world.ts';

const TENANTS = '/apis/coppice.dev/v1/tenants';

describe('streams of an owner', () => {
  let world: StreamWorld;
  let clock: ManualClock;
  beforeEach(async () => {
    clock = new ManualClock();
    world = await StreamWorld.start(clock);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const authorized = async (tenant: string) => {
    const { body, text } = await send(world.test.server.app, 'POST', `${TENANTS}/${tenant}/token`, { body: {} });
    const { token } = (body.status ?? {}) as { token?: string };
    assert.ok(token !== undefined, text);
    return { headers: { authorization: `Bearer ${token}` } };
  };
  const makeBlue = () => {
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'blue' } };
    return send(world.test.server.app, 'POST', TENANTS, { body });
  };

  it('reach a VM of its own, and are closed when its token is another by then', async () => {
    const nodelet = await world.connect();
    const client = world.socket(EXEC, CHANNEL_PROTOCOL, await authorized('red'));
    const socket = await nodelet.answer();
    if (client.readyState !== client.OPEN) await once(client, 'open');
    socket.send('hello');
    assert.equal(await messageOf(client), 'hello');
    const [ended, ofNodelet] = [closeOf(client), closeOf(socket)];
    await authorized('red');
    await clock.advance(30_000);
    assert.deepEqual(await ended, { code: 4401, reason: 'the credential is refused by now' });
    assert.equal((await ofNodelet).code, 4401);
  });

  it('do not reach a VM of another, which is not there for it', async () => {
    await world.connect();
    await makeBlue();
    const { headers } = await authorized('blue');
    const refused = await refusalOf(world.socket(EXEC, CHANNEL_PROTOCOL, { headers }));
    assert.deepEqual([refused.status, refused.body.message], [404, 'vms.coppice.dev "web" not found']);
    const { ca, url } = { ca: world.listening.caCert, url: world.listening.url };
    assert.equal((await tlsRequest(`${url}${LOGS}`, { ca, headers })).status, 404);
  });
});
