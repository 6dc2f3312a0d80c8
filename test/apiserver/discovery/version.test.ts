import assert from 'node:assert/strict';
import { contentHash, etagOf, matchesEtag } from '../../../apiserver/discovery/content-hash.ts';
import { serverVersion } from '../../../apiserver/discovery/version.ts';

describe('the version document', () => {
  it('says the Kubernetes version the transcripts were made with, in strings only', () => {
    const version = serverVersion({ platform: 'linux/arm64', runtime: 'v24.11.0' });
    assert.equal(version.gitVersion, 'v1.32.5+coppice');
    assert.equal(`v${version.major}.${version.minor}`, 'v1.32');
    assert.equal(version.platform, 'linux/arm64');
    assert.deepEqual(Object.keys(version).sort(), [
      'buildDate',
      'compiler',
      'gitCommit',
      'gitTreeState',
      'gitVersion',
      'goVersion',
      'major',
      'minor',
      'platform',
    ]);
    assert.ok(Object.values(version).every((value) => typeof value === 'string'));
  });
});

describe('content hashes', () => {
  it('are equal for equal bytes and differ for others', () => {
    assert.equal(contentHash('{}'), contentHash(new TextEncoder().encode('{}')));
    assert.notEqual(contentHash('{}'), contentHash('{ }'));
    assert.match(contentHash(''), /^[0-9A-F]{64}$/);
  });

  it('match as an ETag in any of the forms a client may send it back', () => {
    const etag = etagOf(contentHash('{}'));
    assert.match(etag, /^".*"$/);
    for (const header of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      assert.equal(matchesEtag(header, etag), true, header);
    for (const header of [undefined, '', '"other"', contentHash('{}')]) assert.equal(matchesEtag(header, etag), false);
  });
});
