import { rfc3339 } from '../../resources/ambient/clock.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { controllersAt, endsAlike, type Kill, Killer, type Life } from '../harness/killer.ts';

const DUTIES = ['tenant', 'image', 'scrub', 'lease', 'volume', 'placement', 'vm-lifecycle', 'garbage'] as const;

/** A volume is made, used, stranded, taken by a scrub and deleted; another waits for room. */
async function aLife(kill?: Kill): Promise<Life> {
  await using world = await FleetWorld.start({ duties: false });
  const killer = new Killer(world, controllersAt('volume', ...DUTIES), kill);
  world.startControllers(...DUTIES);
  const make = (name: string, size: string) => {
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Volume', metadata: { name }, spec: { size } };
    return world.request('POST', 'namespaces/acme/volumes', body);
  };
  const phase = (name: string) => world.volume(`acme/${name}`)?.status?.phase;
  await world.tenant('acme');
  await world.mac('mini');
  await world.asks();
  await world.until('acme has it', () => world.hostTells('mini') === 'leased to acme');
  await make('data', '200Gi');
  await world.until('it lies there', () => phase('data') === 'Available');
  const { id } = world.volume('acme/data')?.status ?? {};
  await make('more', '100Gi');
  await world.runs('acme/db', { image: 'linux', volumes: [{ name: 'data' }] });
  await world.until('it is attached', () => phase('data') === 'Attached');
  await world.patches('acme/ci', { spec: { release: { force: true } } });
  await world.until('it is stranded', () => phase('data') === 'Stranded');
  const requestedAt = rfc3339(world.clock.now());
  await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt, force: true } } });
  await world.until('it is lost', () => phase('data') === 'Lost' && world.hostTells('mini') === 'free');
  const lost = world.volume('acme/data')?.status;
  await world.until('the other has room', () => phase('more') === 'Available');
  await world.request('DELETE', 'namespaces/acme/volumes/data');
  await world.until('it is gone', () => world.volume('acme/data') === undefined);
  await killer.healed();
  await world.passes('1m');
  const more = world.volume('acme/more');
  const told = {
    id: [/^vol-[0-9a-f]{12}$/.test(id ?? ''), lost?.id === id],
    lost: [lost?.lostBy, lost?.attachedTo],
    more: [more?.spec.hostName, phase('more'), more && findCondition(more, 'Ready')?.reason],
    files: [...world.volumesOn('mini').keys()].map((file) => file === more?.status?.id),
  };
  return { told, counted: killer.counted };
}

describe('a volume duty that is killed before or after any write, and started again', () => {
  it('ends in the same place', async () => {
    await endsAlike(aLife, {
      least: 8,
      told: {
        id: [true, true],
        lost: ['the scrub of host mini, forced by operator', undefined],
        more: ['mini', 'Available', 'Available'],
        files: [true],
      },
    });
  }).timeout(300_000);
});
