import assert from 'node:assert/strict';
import { Cache } from '../../controllers/runtime/cache.ts';
import { Latest } from '../../nodelet/latest.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

describe('latest', () => {
  let cache: Cache<KubeObject>;
  let latest: Latest<KubeObject>;
  beforeEach(() => {
    cache = new Cache();
    latest = new Latest(cache);
    cache.replace([at(5)]);
  });

  it('shows what was written until the cache has caught up', () => {
    latest.wrote(at(9));
    assert.equal(version(), '9');
    cache.put(at(7));
    assert.equal(version(), '9');
    cache.put(at(10));
    assert.equal(version(), '10');
    cache.put(at(11));
    assert.equal(version(), '11');
  });

  it('counts versions as numbers', () => {
    cache.put(at(99));
    latest.wrote(at(100));
    assert.equal(version(), '100');
  });

  it('forgets what was written when the object is gone, or another has its name', () => {
    latest.wrote(at(9));
    cache.remove('a');
    assert.equal(latest.get('a'), undefined);
    cache.put(at(12, 'other'));
    latest.wrote(at(20));
    assert.equal(latest.get('a')?.metadata.uid, 'other');
  });

  it('does not bring back an object that went before its write was answered', () => {
    cache.remove('a');
    latest.wrote(at(9));
    assert.equal(latest.get('a'), undefined);
  });

  const version = () => latest.get('a')?.metadata.resourceVersion;
});

function at(revision: number, uid = 'one'): KubeObject {
  const metadata = { name: 'a', uid, resourceVersion: String(revision), creationTimestamp: '2026-01-01T00:00:00Z' };
  return { apiVersion: 'v1', kind: 'Thing', metadata };
}
