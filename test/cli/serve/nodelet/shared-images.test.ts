import assert from 'node:assert/strict';
import { OPERATOR } from '../../../../apiserver/auth/identity.ts';
import type { ApiRequest, Transport } from '../../../../apiserver/client/transport.ts';
import { SharedImages } from '../../../../cli/serve/nodelet/shared-images.ts';
import { systemClock as clock } from '../../../../resources/ambient/system-clock.ts';
import { Image } from '../../../../resources/kinds/image.ts';
import { startTestServer } from '../../../harness/server.ts';
import { until } from '../../../harness/until.ts';

/** What a server says to a host whose Host is gone. */
const refused: Transport = async () => ({
  status: 403,
  headers: { 'content-type': 'application/json' },
  body: (async function* () {
    yield new TextEncoder().encode('{"kind":"Status","reason":"Forbidden","code":403}');
  })(),
});

describe('the Images that hosts of a process share', () => {
  it('are seen through any host that servers take for one, in one watch, and go on when that is taken for none', async () => {
    await using test = await startTestServer();
    const asked: string[] = [];
    let firstIsTaken = true;
    const through = (name: string, inner: Transport) => (request: ApiRequest) => {
      asked.push(`${name} ${request.path.includes('watch=true') ? 'watch' : 'list'}`);
      return inner(request);
    };
    const transport = test.server.transportFor(OPERATOR);
    const first: Transport = (request) => (firstIsTaken ? transport : refused)(request);
    const images = new SharedImages([refused, through('first', first), through('second', transport)], {
      clock,
      random: () => 0.5,
    });
    const ending = new AbortController();
    const running = images.run(ending.signal);
    await images.cache.whenSynced(ending.signal);
    const make = (name: string) =>
      test.client.resource<Image>(Image).create({
        apiVersion: 'coppice.dev/v1',
        kind: 'Image',
        metadata: { name },
        spec: { guestOS: 'linux', source: { path: name } } as Image['spec'],
      });
    await make('one');
    await until('it is seen', () => images.cache.get('one') !== undefined);
    assert.deepEqual(asked, ['first list', 'first watch']);

    firstIsTaken = false;
    images.relist();
    await make('two');
    await until('the second is asked', () => images.cache.get('two') !== undefined);
    assert.ok(asked.some((what) => what.startsWith('second ')));
    ending.abort();
    await running;
  });
});
