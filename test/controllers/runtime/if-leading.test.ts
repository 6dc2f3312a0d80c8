import assert from 'node:assert/strict';
import type { ApiRequest, Transport } from '../../../apiserver/client/transport.ts';
import { ifLeading, NotLeadingError } from '../../../controllers/runtime/if-leading.ts';
import { TERM_HEADER, type Term } from '../../../resources/meta/term-header.ts';

const TERM: Term = { namespace: 'coppice-system', name: 'duty-x', resourceVersion: '7' };

describe('the transport of one who leads', () => {
  let sent: ApiRequest[];
  let term: Term | undefined;
  let ending: AbortController;
  let guarded: Transport;
  beforeEach(() => {
    sent = [];
    term = TERM;
    ending = new AbortController();
    const transport: Transport = async (request) => {
      sent.push(request);
      return { status: 200, headers: {}, body: (async function* () {})() };
    };
    guarded = ifLeading(transport, { duty: 'x', term: () => term, signal: ending.signal });
  });

  it('says with each write under which term it is done, as it is at that moment', async () => {
    await guarded({ method: 'POST', path: '/', headers: { a: 'b' } });
    term = { ...TERM, resourceVersion: '8' };
    await guarded({ method: 'DELETE', path: '/' });
    assert.deepEqual(
      sent.map(({ headers }) => headers),
      [{ a: 'b', [TERM_HEADER]: 'coppice-system/duty-x/7' }, { [TERM_HEADER]: 'coppice-system/duty-x/8' }],
    );
  });

  it('sends no write when it is not certain that it leads, and reads on', async () => {
    term = undefined;
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      await assert.rejects(guarded({ method, path: '/' }), NotLeadingError);
    await guarded({ method: 'GET', path: '/' });
    assert.deepEqual(
      sent.map(({ method }) => method),
      ['GET'],
    );
  });

  it('gives up what is under way when the term ends, and sends nothing after', async () => {
    const own = new AbortController();
    await guarded({ method: 'POST', path: '/', signal: own.signal });
    const reason = new Error('over');
    ending.abort(reason);
    assert.equal(sent[0]?.signal?.aborted, true);
    for (const method of ['GET', 'POST']) await assert.rejects(guarded({ method, path: '/' }), reason);
    assert.equal(sent.length, 1);
  });
});
