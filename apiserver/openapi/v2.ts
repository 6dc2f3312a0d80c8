import { GIT_VERSION } from '../discovery/version.ts';

/** What is asked for; the `@` is not allowed in a media type, so the answer has another name. */
const PROTOBUF_ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** gnostic's openapi.v2.Document with nothing but field 1, `swagger: "2.0"`. */
const DOCUMENT_BYTES = Uint8Array.of(0x0a, 0x03, 0x32, 0x2e, 0x30);

const DOCUMENT_JSON = JSON.stringify({
  swagger: '2.0',
  info: { title: 'Coppice', version: GIT_VERSION },
  paths: {},
  definitions: {},
});

/**
 * `/openapi/v2`: the smallest document there is, as protobuf when the Accept header names it before JSON, as JSON otherwise.
 * kubectl needs an answer here for manifests of `kind: List` and for unknown kinds; what kinds look like it takes from v3.
 */
export function openAPIv2(accept: string): { readonly contentType: string; readonly body: Uint8Array | string } {
  for (const entry of accept.split(',')) {
    const type = entry.split(';', 1)[0]?.trim().toLowerCase();
    if (type === PROTOBUF_ASKED || type === PROTOBUF) return { contentType: PROTOBUF, body: DOCUMENT_BYTES };
    if (type === 'application/json' || type === 'application/*' || type === '*/*') break;
  }
  return { contentType: 'application/json', body: DOCUMENT_JSON };
}
