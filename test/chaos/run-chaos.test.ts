import assert from 'node:assert/strict';
import type { ApiResponse, Transport } from '../../apiserver/client/transport.ts';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import { lines } from '../../apiserver/client/watch.ts';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { Random } from '../fuzz/random.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { driven, OneProcessWorld } from './one-process-world.ts';
import { type ChaosReport, runChaos } from './run-chaos.ts';

describe('a run of chaos', () => {
  it('finds nothing where nothing is wrong', async () => {
    assert.deepEqual(rulesOf(await runOver((send) => send)), []);
  });

  it('finds reads from a cache that is too old', async () => {
    const kept = new Map<string, Uint8Array>();
    const report = await runOver((send) => async (request) => {
      const answer = await send(request);
      if (request.method !== 'GET' || request.path.includes('?') || answer.status !== 200) return answer;
      const old = kept.get(request.path);
      if (old !== undefined) return { ...answer, body: once(old) };
      kept.set(request.path, await whole(answer));
      return { ...answer, body: once(kept.get(request.path) ?? new Uint8Array()) };
    });
    assert.ok(rulesOf(report).includes('not linearizable'), rulesOf(report).join());
  });

  it('finds a watch that leaves something out, and one that repeats itself', async () => {
    const [gaps, repeats] = [await runOver(watching(7, 0)), await runOver(watching(7, 2))];
    assert.ok(rulesOf(gaps).includes('watch gap'), rulesOf(gaps).join());
    assert.ok(rulesOf(repeats).includes('watch repeat'), rulesOf(repeats).join());
  });

  it('finds a write that is acknowledged and not done', async () => {
    const report = await runOver((send) => async (request) => {
      if (request.method !== 'DELETE') return send(request);
      const found = await send({ method: 'GET', path: request.path });
      return { ...found, body: once(await whole(found)) };
    });
    assert.ok(rulesOf(report).includes('not linearizable'), rulesOf(report).join());
  });

  it('says which server does not come back, and ends every fault all the same', async () => {
    const begun: string[] = [];
    const fault: Fault = {
      name: 'fault',
      target: 'server 0',
      async begin() {
        begun.push('begun');
        return async () => void begun.push('over');
      },
    };
    const dead: Transport = async () => {
      throw new UnreachableError('refused', 'the server', 'nothing listens', { sent: false });
    };
    const world: ChaosWorld = { servers: [dead], faults: [fault], [Symbol.asyncDispose]: async () => {} };
    const clock = new ManualClock();
    const report = await driven(clock, runChaos(world, { clock, random: new Random(1), durationMs: 5_000 }));
    assert.deepEqual([...new Set(rulesOf(report))], ['not available again']);
    assert.match(report.violations[0]?.message ?? '', /server 0 does not list/);
    assert.equal(report.outcomes.ok, 0);
    assert.ok(begun.length > 0);
    assert.equal(begun.filter((each) => each === 'over').length, begun.length / 2);
  });
});

/** A short run without faults, over servers of which one says what `told` makes of its answers. */
async function runOver(told: (send: Transport) => Transport): Promise<ChaosReport> {
  const clock = new ManualClock();
  const run = async () => {
    await using world = await OneProcessWorld.start(clock, new Random(1));
    const [first, ...others] = world.servers;
    if (first === undefined) throw new Error('there is no server');
    const servers = [told(first), ...others];
    const calm: ChaosWorld = { servers, faults: [], [Symbol.asyncDispose]: async () => {} };
    return await runChaos(calm, { clock, random: new Random(2), durationMs: 8_000, longestThinkMs: 50 });
  };
  return driven(clock, run());
}

const rulesOf = ({ violations }: ChaosReport) => violations.map(({ rule }) => rule);

/** Watches tell every so-many-th line this often. */
function watching(every: number, times: number): (send: Transport) => Transport {
  let told = 0;
  return (send) => async (request) => {
    const answer = await send(request);
    if (!request.path.includes('watch=1')) return answer;
    const body = async function* () {
      for await (const line of lines(answer.body)) {
        told++;
        const count = told % every === 0 && !line.includes('BOOKMARK') ? times : 1;
        for (let i = 0; i < count; i++) yield Buffer.from(`${line}\n`);
      }
    };
    return { ...answer, body: body() };
  };
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function whole({ body }: ApiResponse): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}
