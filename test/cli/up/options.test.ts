import assert from 'node:assert/strict';
import { upOptions } from '../../../cli/up/options.ts';
import { FaultsFile } from '../../../nodelet/drivers/sim/faults/faults-file.ts';

const LEAK = FaultsFile.of({ faults: [{ fault: 'LeakedSlot' }] });
const FLAGS = {
  home: '/home/ann/.coppice',
  pki: undefined,
  port: undefined,
  driver: 'auto',
  hosts: undefined,
  noQuickstart: false,
  faults: undefined,
};
const options = (flags: Partial<Parameters<typeof upOptions>[0]>, env: Record<string, string> = {}) =>
  upOptions({ ...FLAGS, ...flags }, env, '/work-dir');

describe('the options of up', () => {
  it('have defaults', () => {
    assert.deepEqual(options({}), {
      home: '/home/ann/.coppice',
      store: { kind: 'sqlite' },
      pki: undefined,
      port: 7799,
      driver: 'auto',
      hosts: undefined,
      quickstart: true,
      faults: undefined,
    });
  });

  it('find a home from where one stands, but none without a name', () => {
    assert.equal(options({ home: 'here' }).home, '/work-dir/here');
    assert.throws(() => options({ home: '' }), { name: 'Failure', message: '--home is empty' });
  });

  it('take the port of the flag, else of the environment', () => {
    assert.equal(options({ port: 0 }, { COPPICE_PORT: '1' }).port, 0);
    assert.equal(options({}, { COPPICE_PORT: '65535' }).port, 65535);
    assert.equal(options({}, { COPPICE_PORT: '' }).port, 7799);
    for (const wrong of ['65536', '-1', '1e3', 'x', ' 80', '0x10'])
      assert.throws(() => options({}, { COPPICE_PORT: wrong }), {
        name: 'Failure',
        message: `COPPICE_PORT is "${wrong}", which is not a port`,
      });
  });

  it('know the drivers', () => {
    for (const driver of ['auto', 'qemu', 'sim']) assert.equal(options({ driver }).driver, driver);
    assert.throws(() => options({ driver: 'kvm' }), { name: 'Failure', message: 'there is no driver "kvm"' });
  });

  it('keep what is for simulated hosts to them', () => {
    assert.equal(options({ driver: 'sim', hosts: 5, noQuickstart: true }).hosts, 5);
    assert.equal(options({ driver: 'qemu', hosts: 1 }).hosts, 1);
    for (const driver of ['auto', 'qemu']) {
      assert.throws(() => options({ driver, hosts: 2 }), { name: 'Failure', hint: 'add --driver sim' });
      assert.throws(() => options({ driver, faults: LEAK }), { name: 'Failure', hint: 'add --driver sim' });
    }
  });

  it('take faults of hosts that there are', () => {
    assert.equal(options({ driver: 'sim', faults: LEAK }).faults, LEAK);
    const faults = FaultsFile.of({ faults: [{ fault: 'Partition', hosts: ['mac-2', 'mac-4'] }] });
    assert.equal(options({ driver: 'sim', hosts: 4, faults }).faults, faults);
    assert.throws(() => options({ driver: 'sim', faults }), {
      name: 'Failure',
      message: '--faults: faults: faults[0].hosts[1]: "mac-4" is no host here; there are mac-1 to mac-3',
    });
  });
});
