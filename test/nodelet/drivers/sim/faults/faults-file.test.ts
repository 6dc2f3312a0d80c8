import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FAULTS, matches } from '../../../../../nodelet/drivers/sim/faults/fault.ts';
import { FaultsError } from '../../../../../nodelet/drivers/sim/faults/faults-error.ts';
import { FaultsFile } from '../../../../../nodelet/drivers/sim/faults/faults-file.ts';

const read = (text: string) => FaultsFile.read('f.yaml', text);

describe('a file of faults', () => {
  it('is YAML with a seed and a list', () => {
    const file = read(`
      # a bad day
      seed: 42
      faults:
        - {fault: FailedOperation, operation: Start, hosts: [mac-1, "lab-*"], vms: [demo/*], times: 2, skip: 1}
        - fault: Partition
          after: 1m30s
          every: 10m..20m
          for: 250ms
          probability: 0.5
        - {fault: ClockStep, by: +90s}
    `);
    assert.equal(file.seed, 42);
    assert.deepEqual(file.faults, [
      { fault: 'FailedOperation', operation: 'Start', hosts: ['mac-1', 'lab-*'], vms: ['demo/*'], times: 2, skip: 1 },
      { fault: 'Partition', after: '1m30s', every: '10m..20m', for: '250ms', probability: 0.5 },
      { fault: 'ClockStep', by: '+90s' },
    ]);
  });

  it('is JSON as well, and needs no seed', () => {
    const file = read('{\n\t"faults": [{"fault": "DiskFull", "for": "1m"}]\n}\n');
    assert.deepEqual([file.seed, file.faults], [undefined, [{ fault: 'DiskFull', for: '1m' }]]);
    assert.deepEqual(read('faults: []').faults, []);
  });

  const DURATION = 'is not a duration such as 10s, 1m30s or 250ms, or a range such as 10s..30s';
  const NAMES = Object.keys(FAULTS).join(', ');
  const refused: readonly [what: string, text: string, message: string][] = [
    ['nothing', '', 'f.yaml: null is not an object with "faults", a list'],
    ['a list', '- fault: DiskFull', 'f.yaml, line 1: [{"fault":"DiskFull"}] is not an object with "faults", a list'],
    ['no faults', 'seed: 1', 'f.yaml, line 1: faults is missing: a list of faults'],
    [
      'faults that are no list',
      'faults:\n  fault: DiskFull',
      'f.yaml, line 1: faults: {"fault":"DiskFull"} is not a list of faults',
    ],
    [
      'a fault that is a word',
      'faults:\n- DiskFull',
      'f.yaml, line 2: faults[0]: "DiskFull" is not a fault, such as {fault: LostGuest, after: 1m}',
    ],
    [
      'a fault without a name',
      'faults:\n\n- after: 1m',
      `f.yaml, line 3: faults[0]: fault is missing: one of ${NAMES}`,
    ],
    [
      'a fault there is not',
      'faults:\n- fault: Partition\n- after: 1s\n  fault: partition',
      `f.yaml, line 4: faults[1].fault: there is no fault "partition"; there are ${NAMES}`,
    ],
    [
      'a field there is not',
      'sed: 1\nfaults: []',
      'f.yaml, line 1: sed: there is no such field here; there are seed, faults',
    ],
    [
      'a field of another fault',
      'faults:\n- fault: Partition\n  operation: Start',
      'f.yaml, line 3: faults[0].operation: there is no such field here; there are fault, hosts, after, every, times, probability, for',
    ],
    [
      'a field that is missing',
      'faults:\n- fault: ClockStep',
      'f.yaml, line 2: faults[0]: by is missing: a duration with a sign, such as +90s or -1h',
    ],
    [
      'a number for a duration',
      'faults:\n- fault: DiskFull\n  after: 10',
      `f.yaml, line 3: faults[0].after: 10 ${DURATION}`,
    ],
    [
      'a duration without a unit',
      'faults:\n- fault: DiskFull\n  for: "10"',
      `f.yaml, line 3: faults[0].for: "10" ${DURATION}`,
    ],
    ['an empty duration', 'faults:\n- fault: DiskFull\n  for: ""', `f.yaml, line 3: faults[0].for: "" ${DURATION}`],
    ['half a range', 'faults:\n- fault: DiskFull\n  for: 10s..', `f.yaml, line 3: faults[0].for: "10s.." ${DURATION}`],
    [
      'a sign on what has none',
      'faults:\n- fault: DiskFull\n  for: -10s',
      `f.yaml, line 3: faults[0].for: "-10s" ${DURATION}`,
    ],
    [
      'a range that goes back',
      'faults:\n- fault: DiskFull\n  for: 30s..10s',
      'f.yaml, line 3: faults[0].for: "30s..10s" ends before it begins',
    ],
    [
      'no time between',
      'faults:\n- {fault: LostGuest, every: 0s}',
      'f.yaml, line 2: faults[0].every: "0s" leaves no time between',
    ],
    [
      'a probability above one',
      'faults:\n- {fault: LostGuest, probability: 10}',
      'f.yaml, line 2: faults[0].probability: 10 is not a number from 0 to 1',
    ],
    [
      'times of none',
      'faults:\n- {fault: LostGuest, times: 0}',
      'f.yaml, line 2: faults[0].times: 0 is not a whole number from 1 on',
    ],
    [
      'half a time',
      'faults:\n- {fault: LostGuest, times: 1.5}',
      'f.yaml, line 2: faults[0].times: 1.5 is not a whole number from 1 on',
    ],
    [
      'a host that is no text',
      'faults:\n- fault: DiskFull\n  hosts:\n  - mac-1\n  - 2',
      'f.yaml, line 5: faults[0].hosts[1]: 2 is not a name',
    ],
    [
      'one host, not in a list',
      'faults:\n- fault: DiskFull\n  hosts: mac-1',
      'f.yaml, line 3: faults[0].hosts: "mac-1" is not a list of hosts, in which * stands for any letters',
    ],
    [
      'no hosts',
      'faults:\n- fault: DiskFull\n  hosts: []',
      'f.yaml, line 3: faults[0].hosts: [] is not a list of hosts, in which * stands for any letters',
    ],
    [
      'an operation there is not',
      'faults:\n- {fault: FailedOperation, operation: start}',
      'f.yaml, line 2: faults[0].operation: "start" is not one of Create, Start, Stop, Pause, Resume, Remove, Exec, List',
    ],
    [
      'VMs of what has none',
      'faults:\n- {fault: FailedOperation, operation: List, vms: [a/b]}',
      'f.yaml, line 2: faults[0].vms: the operation List is of no VM',
    ],
    [
      'what never ends and comes again',
      'faults:\n- fault: Partition\n  every: 1m',
      'f.yaml, line 3: faults[0].every: what comes again has to end: for is missing',
    ],
    [
      'times of what comes once',
      'faults:\n- fault: Partition\n  times: 3',
      'f.yaml, line 3: faults[0].times: 3 times, but every is missing',
    ],
    [
      'VMs of a crash at no step',
      'faults:\n- fault: NodeletCrash\n  vms: [a/b]',
      'f.yaml, line 3: faults[0].vms: is about steps, and step is missing',
    ],
    [
      'a key that is there twice',
      'faults:\n- fault: DiskFull\n  for: 1s\n  for: 2s',
      'f.yaml, line 4: is not valid YAML: the key "for" is there twice',
    ],
    ['what is no YAML', 'faults:\n- {fault: DiskFull', 'f.yaml, line'],
    [
      'two documents',
      'faults: []\n---\nfaults: []',
      'f.yaml, line 3: is not valid YAML: it has more than one document',
    ],
  ];
  for (const [what, text, message] of refused) {
    it(`is refused for ${what}`, () => {
      assert.throws(
        () => read(text),
        (error: unknown) => {
          assert.ok(error instanceof FaultsError);
          assert.equal(error.message.slice(0, message.length), message);
          assert.ok(message.endsWith('line') || error.message === message, error.message);
          return true;
        },
      );
    });
  }

  it('is refused with all that is wrong, a line each', () => {
    const text = 'faults:\n- {fault: Nothing}\n- fault: DiskFull\n  for: soon\n  times: -1\n';
    assert.throws(
      () => read(text),
      (error: unknown) => {
        const lines = (error as Error).message.split('\n').map((line) => line.slice(0, 34));
        assert.deepEqual(lines, [
          'f.yaml, line 2: faults[0].fault: t',
          'f.yaml, line 4: faults[1].for: "so',
          'f.yaml, line 5: faults[1].times: -',
        ]);
        return true;
      },
    );
  });

  it('is checked against the hosts there are', () => {
    const file = read('faults:\n- {fault: DiskFull, hosts: [mac-1, mac-*]}\n- fault: DiskFull\n  hosts: [lab-*]');
    assert.throws(() => file.checkHosts(['mac-1', 'mac-2', 'mac-3']), {
      name: 'FaultsError',
      message: 'f.yaml, line 4: faults[1].hosts[0]: "lab-*" is no host here; there are mac-1 to mac-3',
    });
    file.checkHosts(['mac-1', 'lab-1']);
  });

  it('may use anchors and aliases', () => {
    const file = read('faults:\n- &cut {fault: Partition, for: 1m}\n- *cut\n- {<<: *cut, hosts: [mac-1]}');
    assert.deepEqual(
      file.faults.map(({ hosts }) => hosts),
      [undefined, undefined, ['mac-1']],
    );
    assert.throws(() => read('x: &x soon\nfaults:\n- fault: DiskFull\n  for: *x'), /there is no such field/);
  });

  it('is a value as well, for those who test', () => {
    const file = FaultsFile.of({ seed: 3, faults: [{ fault: 'LostGuest', after: '1m' }] });
    assert.deepEqual([file.seed, file.faults.length], [3, 1]);
    assert.throws(() => FaultsFile.of({ faults: [{ fault: 'LostGuest', after: '1' }] }), {
      message: `faults: faults[0].after: "1" ${DURATION}`,
    });
  });

  it('is never refused in other words than its own', () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom(...Object.keys(FAULTS)), fc.constant('10s'));
    const fields = fc.constantFrom(
      'fault',
      'hosts',
      'after',
      'every',
      'for',
      'times',
      'vms',
      'step',
      'by',
      '__proto__',
    );
    const fault = fc.oneof(odd, fc.dictionary(fields, odd));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.record({ faults: fc.array(fault) }).map((v) => JSON.stringify(v)),
        ),
        (text) => {
          try {
            read(text);
          } catch (error) {
            assert.ok(error instanceof FaultsError, String(error));
          }
        },
      ),
    );
  });
});

describe('a pattern of names', () => {
  it('means what a regular expression would', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/', '-'), maxLength: 8 });
    const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*'), maxLength: 8 });
    fc.assert(
      fc.property(patterns, letters, (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
        assert.equal(matches(pattern, name), expected);
      }),
      { numRuns: 2_000 },
    );
  });
});
