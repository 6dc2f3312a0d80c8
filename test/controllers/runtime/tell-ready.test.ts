import assert from 'node:assert/strict';
import { tellReady, tellWanted } from '../../../controllers/runtime/tell-ready.ts';
import { aVM, EPOCH_START } from '../../harness/builders.ts';

function told(reasons: readonly string[]): readonly string[] {
  const told: string[] = [];
  const events = {
    record: (_: object, { type, reason }: { type: string; reason: string }) => void told.push(`${type} ${reason}`),
  };
  const states = reasons.map((reason) => {
    const status = reason === 'Warm' ? 'True' : 'False';
    const ready = { type: 'Ready', status, reason, message: reason, lastTransitionTime: EPOCH_START } as const;
    return { ...aVM({}), status: { conditions: [ready] } };
  });
  states.forEach((after, i) => {
    const before = states[i - 1];
    if (before !== undefined) tellReady(before, after, ['Warming'], events);
  });
  return told;
}

describe('what is recorded of the condition Ready', () => {
  it('is each other reason why it is not, and the end of that', () => {
    assert.deepEqual(told(['Warm', 'QuotaExceeded', 'QuotaExceeded', 'NoHostFits', 'Warm']), [
      'Warning QuotaExceeded',
      'Warning NoHostFits',
      'Normal Warm',
    ]);
  });

  it('is nothing of what is merely under way', () => {
    assert.deepEqual(told(['Warming', 'Warm', 'Warming', 'Warm']), []);
  });
});

describe('what is recorded of how many are wanted', () => {
  it('is another number, and whether a schedule or somebody asked for it', () => {
    const told: string[] = [];
    const events = {
      record: (_: object, { reason, message }: { reason: string; message: string }) =>
        void told.push(`${reason}: ${message}`),
    };
    const made = aVM({});
    const of = (generation: number, wanted: number) => ({
      ...made,
      metadata: { ...made.metadata, generation },
      status: { wanted, observedGeneration: generation },
    });
    tellWanted(of(1, 2), of(1, 2), events);
    tellWanted(of(1, 2), of(1, 4), events);
    tellWanted(of(1, 4), of(2, 3), events);
    assert.deepEqual(told, [
      'Scheduled: 4 are wanted from now on, 2 were: a schedule begins or ends',
      'Scaled: 3 are wanted from now on, 4 were: its spec was changed',
    ]);
  });
});
