import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { ProcessMark } from '../../../../controllers/runtime/election/election.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { Random } from '../../../fuzz/random.ts';
import { LeaseServer } from './lease-server.ts';
import { SimProcess } from './sim-process.ts';

const DUTIES = ['a', 'b', 'c', 'd'];

/** A machine, and which of its processes are there. */
class Machine {
  readonly name: string;
  readonly gone = new Set<string>();
  #count = 0;

  constructor(name: string) {
    this.name = name;
  }

  next(): ProcessMark {
    return {
      own: `${this.name}/${this.#count++}`,
      isGone: async (mark) => mark.startsWith(`${this.name}/`) && this.gone.has(mark),
    };
  }
}

class Fleet {
  readonly time = new ManualClock();
  readonly server = new LeaseServer();
  readonly processes: SimProcess[] = [];

  /** `machine`: where it and others see whether each other's processes are there. */
  add(
    wish: { readonly duties?: readonly string[]; readonly lone?: boolean; readonly machine?: Machine } = {},
  ): SimProcess {
    const chance = new Random(this.processes.length);
    const process = new SimProcess({
      server: this.server,
      time: this.time,
      duties: wish.duties ?? DUTIES,
      rate: 1,
      wallOffsetMs: this.processes.length * 1_000_000,
      lone: wish.lone ?? false,
      ...(wish.machine === undefined ? {} : { process: wish.machine.next() }),
      random: () => chance.next() / 2 ** 32,
      onStep: () => {},
    });
    this.processes.push(process);
    return process;
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 20) {
      await this.time.advance(Math.min(20, left));
      await setImmediate();
    }
  }

  leads(process: SimProcess): string {
    return DUTIES.filter((duty) => process.leads(duty)).join();
  }

  end(): void {
    for (const process of this.processes) process.kill();
  }
}

describe('the election', () => {
  let fleet: Fleet;
  beforeEach(() => {
    fleet = new Fleet();
  });
  afterEach(() => fleet.end());

  it('gives all to the first, at once, and nothing to one that comes later', async () => {
    const first = fleet.add();
    await fleet.pass(200);
    assert.equal(fleet.leads(first), 'a,b,c,d');
    const second = fleet.add();
    await fleet.pass(20_000);
    assert.equal(fleet.leads(first), 'a,b,c,d');
    assert.equal(fleet.leads(second), '');
  });

  it('writes nothing but one renewal a process while nothing happens', async () => {
    fleet.add();
    fleet.add();
    await fleet.pass(5_000);
    const before = fleet.server.log.length;
    await fleet.pass(13_000);
    const written = fleet.server.log.slice(before);
    assert.deepEqual(new Set(written.map((write) => write.replace(/-.*/, ''))), new Set(['patch controllers']));
    assert.equal(written.length, 20);
  });

  it('hands over four seconds after the last renewal of one that died, and by its version', async () => {
    const leader = fleet.add();
    await fleet.pass(200);
    const standby = fleet.add();
    await fleet.pass(2_000);
    const name = leader.election.member ?? '';
    leader.kill();
    await fleet.pass(2_000);
    assert.equal(fleet.leads(standby), '');
    const lease = fleet.server.get(name);
    await fleet.pass(3_000);
    assert.equal(fleet.leads(standby), 'a,b,c,d');
    assert.equal(fleet.server.get(name), undefined);
    const removal = fleet.server.requests.find(({ method }) => method === 'DELETE');
    assert.deepEqual(JSON.parse(new TextDecoder().decode(removal?.body)).preconditions, {
      uid: lease?.metadata.uid,
      resourceVersion: lease?.metadata.resourceVersion,
    });
  });

  it('hands over at once to who sees that the process of the leader is gone: one that is started again, or stood by', async () => {
    const machine = new Machine('here');
    const leader = fleet.add({ machine });
    await fleet.pass(200);
    leader.kill();
    machine.gone.add('here/0');
    await fleet.pass(100);
    const again = fleet.add({ machine });
    await fleet.pass(400);
    assert.equal(fleet.leads(again), 'a,b,c,d');
    const standby = fleet.add({ machine });
    await fleet.pass(5_000);
    again.kill();
    machine.gone.add('here/1');
    await fleet.pass(2_200);
    assert.equal(fleet.leads(standby), 'a,b,c,d');
  });

  it('believes a leader to be there as long as its process is, and one of another machine as long as it is heard', async () => {
    const [here, there] = [new Machine('here'), new Machine('there')];
    const leader = fleet.add({ machine: there });
    await fleet.pass(200);
    there.gone.add('there/0');
    const [other, same] = [fleet.add({ machine: here }), fleet.add({ machine: here })];
    await fleet.pass(1_000);
    assert.equal(fleet.leads(leader), 'a,b,c,d');
    leader.kill();
    await fleet.pass(2_000);
    assert.equal(fleet.leads(other) + fleet.leads(same), '');
    await fleet.pass(3_000);
    assert.notEqual(fleet.leads(other) + fleet.leads(same), '');
    const led = [fleet.leads(other), fleet.leads(same)];
    await fleet.pass(10_000);
    assert.deepEqual([fleet.leads(other), fleet.leads(same)], led);
  });

  it('hands over at once when the leader leaves, and shares out what it led', async () => {
    const leader = fleet.add();
    await fleet.pass(200);
    const [one, other] = [fleet.add(), fleet.add()];
    await fleet.pass(2_000);
    void leader.election.leave();
    await fleet.pass(400);
    assert.equal(fleet.leads(leader), '');
    const shares = [fleet.leads(one), fleet.leads(other)].map((led) => led.split(','));
    assert.deepEqual(shares.flat().sort(), DUTIES);
    assert.deepEqual(
      shares.map((share) => share.length),
      [2, 2],
    );
  });

  it('ends the terms of a leader that cannot renew before anybody else begins', async () => {
    const leader = fleet.add();
    await fleet.pass(200);
    const standby = fleet.add();
    await fleet.pass(2_000);
    leader.losesAnswers = true;
    let lapsedMs = 0;
    let begunMs = 0;
    for (let ms = 0; ms < 10_000; ms += 20) {
      await fleet.pass(20);
      if (lapsedMs === 0 && fleet.leads(leader) === '') lapsedMs = fleet.time.now();
      if (begunMs === 0 && fleet.leads(standby) !== '') begunMs = fleet.time.now();
    }
    // What it sent was done, though it did not learn of it: its Lease stays and nobody may take over.
    assert.notEqual(lapsedMs, 0);
    assert.equal(begunMs, 0);
    leader.isCutOff = true;
    await fleet.pass(6_000);
    assert.equal(fleet.leads(standby), 'a,b,c,d');
    leader.isCutOff = false;
    leader.losesAnswers = false;
    await fleet.pass(5_000);
    assert.equal(fleet.leads(leader), '', 'it comes back as another member, which stands by');
    assert.equal(fleet.leads(standby), 'a,b,c,d');
  });

  it('goes on under the same terms after an outage of the server that hit everybody', async () => {
    const leader = fleet.add();
    fleet.add();
    await fleet.pass(3_000);
    const [terms, writes] = [DUTIES.map((duty) => leader.election.term(duty)), fleet.server.log.length];
    for (const process of fleet.processes) process.isRefused = true;
    await fleet.pass(3_500);
    assert.equal(fleet.leads(leader), '', 'nobody leads what it cannot renew');
    for (const process of fleet.processes) process.isRefused = false;
    await fleet.pass(1_000);
    assert.deepEqual(
      DUTIES.map((duty) => leader.election.term(duty)),
      terms,
    );
    assert.deepEqual(
      fleet.server.log.slice(writes).filter((write) => write.includes('duty-')),
      [],
    );
  });

  it('does not lead after a pause before it has asked again', async () => {
    const leader = fleet.add();
    await fleet.pass(1_000);
    leader.pause();
    await fleet.pass(10_000);
    leader.isCutOff = true;
    leader.resume();
    assert.equal(fleet.leads(leader), '');
  });

  it('is held over what each can lead', async () => {
    const some = fleet.add({ duties: ['a', 'c'] });
    const rest = fleet.add({ duties: ['b', 'c', 'd'] });
    await fleet.pass(1_000);
    const led = [...fleet.leads(some).split(','), ...fleet.leads(rest).split(',')];
    assert.deepEqual(led.sort(), DUTIES);
    rest.kill();
    await fleet.pass(6_000);
    assert.equal(fleet.leads(some), 'a,c');
    // Nobody is left who could lead them.
    assert.equal(fleet.leads(fleet.add({ duties: ['a'] })), '');
  });

  it('is settled by one to whom the store belongs alone: no heartbeat, and nobody takes over', async () => {
    const lone = fleet.add({ lone: true });
    await fleet.pass(500);
    assert.equal(fleet.leads(lone), 'a,b,c,d');
    const writes = fleet.server.log.length;
    await fleet.pass(60_000);
    assert.equal(fleet.server.log.length, writes);
    const other = fleet.add();
    await fleet.pass(10_000);
    assert.equal(fleet.leads(other), '');
    lone.kill();
    await fleet.pass(10_000);
    assert.equal(fleet.leads(other), '', 'its server went with it: who comes after is the same');
    const again = fleet.add({ lone: true });
    const before = fleet.server.log.filter((write) => !write.includes('controllers-')).length;
    await fleet.pass(500);
    assert.equal(fleet.leads(again), 'a,b,c,d');
    assert.equal(fleet.server.log.filter((write) => !write.includes('controllers-')).length, before);
  });

  it('gets a member back that somebody deleted, under another name and behind those who wait', async () => {
    const leader = fleet.add();
    await fleet.pass(500);
    const name = leader.election.member ?? '';
    fleet.server.handle({
      method: 'DELETE',
      path: `/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases/${name}`,
    });
    await fleet.pass(500);
    assert.notEqual(leader.election.member, name);
    await fleet.pass(5_000);
    assert.equal(fleet.leads(leader), 'a,b,c,d');
  });
});
