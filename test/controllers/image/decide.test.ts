import assert from 'node:assert/strict';
import { findingsOf, imageStatus } from '../../../controllers/image/decide.ts';
import { findCondition } from '../../../resources/meta/condition.ts';
import { aHost, anImage } from '../../harness/builders.ts';

const has = (name: string, digest: string) => aHost({ name, images: [{ name: 'tiny', digest, size: '10Mi' }] });
const NONE = aHost({ name: 'z', images: [] });

function told(recorded: string | undefined, hosts: ReturnType<typeof aHost>[]) {
  const image = anImage({ status: recorded === undefined ? {} : { digest: recorded } });
  const { conditions, digest, holders, size } = imageStatus(image, findingsOf('tiny', hosts), 0);
  const ready = findCondition({ ...image, status: { conditions: conditions ?? [] } }, 'Ready');
  return { digest, holders, size, ready: `${ready?.status} ${ready?.reason}: ${ready?.message}` };
}

describe('what is said of an image', () => {
  it('is found when hosts agree, and who has it in order of name', () => {
    assert.deepEqual(told(undefined, [has('b', 'd1'), NONE, has('a', 'd1')]), {
      digest: 'd1',
      holders: ['a', 'b'],
      size: '10Mi',
      ready: 'True Found: 2 hosts have it',
    });
  });

  it('is not found when no host has it, and keeps the digest that VMs were admitted with', () => {
    assert.deepEqual(told('d1', [NONE]), {
      digest: 'd1',
      holders: [],
      size: undefined,
      ready: 'False NotFound: no host has it; it is looked for in tiny',
    });
  });

  it('keeps the digest on record when hosts disagree, and names both', () => {
    const { digest, holders, ready } = told('d2', [has('a', 'd1'), has('b', 'd2'), has('c', 'd1')]);
    assert.deepEqual([digest, holders], ['d2', ['b']]);
    assert.equal(ready, 'False DigestMismatch: hosts disagree: d1 on a and 1 more; d2 on b');
  });

  it('picks none when hosts disagree and there is none on record', () => {
    const { digest, holders } = told(undefined, [has('a', 'd1'), has('b', 'd2')]);
    assert.deepEqual([digest, holders], [undefined, []]);
  });

  it('takes a new digest that all agree on: it was built anew', () => {
    assert.deepEqual(told('d1', [has('a', 'd2'), has('b', 'd2')]).digest, 'd2');
  });
});
