import assert from 'node:assert/strict';
import { openAPIv2 } from '../../../apiserver/openapi/v2.ts';

const ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

describe('the OpenAPI v2 document', () => {
  it('is five bytes of protobuf when asked so, under a media type that Go can parse', () => {
    const { contentType, body } = openAPIv2(ASKED);
    assert.equal(contentType, ANSWERED);
    assert.deepEqual(body, Uint8Array.of(0x0a, 0x03, ...Buffer.from('2.0')));
  });

  it('is JSON for anyone else', () => {
    for (const accept of ['application/json', '*/*', '', `application/json, ${ASKED}`]) {
      const { contentType, body } = openAPIv2(accept);
      assert.equal(contentType, 'application/json', accept);
      assert.equal(JSON.parse(String(body)).swagger, '2.0');
    }
    assert.equal(openAPIv2(`${ASKED};q=0.9,application/json;q=0.8`).contentType, ANSWERED);
  });
});
