import assert from 'node:assert/strict';
import { ApiClient } from '../../apiserver/client/client.ts';
import type { ApiRequest, Transport } from '../../apiserver/client/transport.ts';
import { type DutyParts, watchCache } from '../../controllers/runtime/duty.ts';
import { Informers } from '../../controllers/runtime/informers.ts';
import { Seat } from '../../controllers/seat.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { Term } from '../../resources/meta/term-header.ts';
import { aVM } from '../harness/builders.ts';
import { quiesce } from '../harness/eventually.ts';

const TERM: Term = { namespace: 'coppice-system', name: 'duty-x', resourceVersion: '1' };

describe('the seat of a duty', () => {
  let clock: ManualClock;
  let term: Term | undefined;
  let made: DutyParts[];
  let looked: string[];
  let sent: ApiRequest[];
  /** What a look at a key waits for. */
  let gate: Promise<void>;
  let seat: Seat;
  let informers: Informers;
  const errors: string[] = [];
  const log = { ...silentLogger, error: (message: string) => errors.push(message), child: () => log };

  const answer = (body: unknown) => ({ status: 200, headers: {}, body: once(JSON.stringify(body)) });
  const transport: Transport = async (request) => {
    if (request.path.includes('watch=true')) return { status: 200, headers: {}, body: silence(request.signal) };
    if (request.method === 'GET') return answer({ metadata: { resourceVersion: '1' }, items: [aVM({ name: 'a' })] });
    sent.push(request);
    return answer({});
  };

  beforeEach(async () => {
    [clock, term, made, looked, sent, gate] = [new ManualClock(), undefined, [], [], [], Promise.resolve()];
    errors.length = 0;
    informers = new Informers({ client: new ApiClient(transport), clock, random: () => 0 });
    seat = new Seat({
      name: 'x',
      make(parts) {
        made.push(parts);
        const mine = made.length;
        return {
          name: 'x',
          watches: [watchCache(parts.informers.of(VM), ({ key }) => [key])],
          workers: 1,
          async reconcile(key, signal) {
            looked.push(`${mine} ${key}`);
            await gate;
            await parts.client.resource(VM, 'red').delete('a', {}, signal);
            return {};
          },
        };
      },
      transport,
      informers,
      term: () => term,
      instance: () => 'test',
      clock,
      random: () => 0,
      log,
    });
    informers.start();
    await quiesce();
  });
  afterEach(async () => {
    await seat[Symbol.asyncDispose]();
    await informers[Symbol.asyncDispose]();
  });

  const review = async (next: Term | undefined) => {
    term = next;
    seat.review();
    await quiesce();
  };

  it('keeps the caches warm and does nothing while another leads', () => {
    assert.equal(seat.health.state, 'standing by');
    assert.ok(informers.of(VM).synced);
    assert.deepEqual(looked, []);
  });

  it('makes the duty anew for each term', async () => {
    await review(TERM);
    assert.equal(looked.length, 1);
    const first = made.at(-1);
    await review(undefined);
    assert.equal(seat.health.state, 'standing by');
    await review(TERM);
    assert.equal(looked.length, 2);
    assert.notEqual(made.at(-1), first);
    assert.notEqual(made.at(-1)?.events, first?.events);
  });

  it('ends a look that is under way when the term ends, which writes nothing any more', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    await review(TERM);
    assert.equal(looked.length, 1);
    await review(undefined);
    await review(TERM);
    assert.equal(looked.length, 1, 'the next begins when the last has let go');
    resolve();
    await quiesce();
    assert.equal(looked.length, 2);
    assert.equal(sent.length, 1);
    assert.deepEqual(errors, []);
  });

  it('lays the duty down by itself when it is about to act and the term is over', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    await review(TERM);
    term = undefined;
    resolve();
    await quiesce();
    assert.deepEqual(sent, []);
    assert.equal(seat.health.state, 'standing by');
    assert.deepEqual(errors, []);
  });
});

async function* once(text: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** A stream that says nothing until it is ended. */
function silence(signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  return (async function* () {
    await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
  })();
}
