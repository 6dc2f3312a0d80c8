import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { isScalar } from '../../../apiserver/protobuf/message-table.ts';
import { fieldsOf, MESSAGE_NAMES, SHAPES } from '../../../apiserver/protobuf/messages.ts';
import { deleteOptionsReader, type ProtobufReader, protobufReader } from '../../../apiserver/protobuf/read-envelope.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { enveloped, message, nested } from './encode.ts';

interface Sent {
  readonly name: string;
  /** What Go's own JSON encoder makes of the same object, without null for lists and messages that are not set. */
  readonly json: { readonly apiVersion: string; readonly kind: string };
  readonly protobuf: string;
}

const read = <T>(file: string): T[] =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

const CLIENT_GO = read<Sent>('client-go.jsonl');
const KUBECTL = read<{ command: string; protobuf: string }>('kubectl.jsonl');

function readerOf({ apiVersion, kind }: Sent['json']): ProtobufReader {
  if (kind === 'DeleteOptions') return deleteOptionsReader;
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const reader = protobufReader({ group: group ?? '', version: version ?? '', kind });
  assert.ok(reader, `${apiVersion} ${kind}`);
  return reader;
}

const namespaces = readerOf({ apiVersion: 'v1', kind: 'Namespace' });
const decoded = (command: string): JsonObject => {
  const sent = KUBECTL.find((one) => one.command.startsWith(command));
  assert.ok(sent, command);
  const type = Buffer.from(sent.protobuf, 'base64').toString('latin1');
  const kind = ['Namespace', 'Secret', 'TokenRequest', 'SelfSubjectAccessReview'].find((one) => type.includes(one));
  const apiVersion = { TokenRequest: 'authentication.k8s.io/v1', SelfSubjectAccessReview: 'authorization.k8s.io/v1' };
  return readerOf({ apiVersion: (apiVersion as Record<string, string>)[kind ?? ''] ?? 'v1', kind: kind ?? '' })(
    Buffer.from(sent.protobuf, 'base64'),
  );
};

const refused = (run: () => unknown, message: RegExp) =>
  assert.throws(
    run,
    (error: unknown) => error instanceof ApiError && error.code === 400 && message.test(error.message),
  );

describe('bodies in protobuf', () => {
  for (const sent of CLIENT_GO) {
    it(`are the JSON that Go makes of a ${sent.name}`, () => {
      assert.deepEqual(readerOf(sent.json)(Buffer.from(sent.protobuf, 'base64')), sent.json);
    });
  }

  it('are what kubectl says', () => {
    assert.deepEqual(decoded('create ns'), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'x' },
      spec: {},
      status: {},
    });
    assert.deepEqual(decoded('create secret generic').data, { password: Buffer.from('geheim').toString('base64') });
    assert.deepEqual(decoded('create token').spec, { audiences: ['a'], expirationSeconds: 1200 });
    assert.deepEqual(decoded('auth can-i get').spec, { nonResourceAttributes: { path: '/healthz', verb: 'get' } });
  });

  it('keep every digit of an integer, and what is no letter', () => {
    const meta = message((w) => {
      w.tag(1, WireType.LengthDelimited).string('n\u00e4\ufeff\u{1f600}');
      w.tag(7, WireType.Varint).int64(9_007_199_254_740_993n);
      nested(w, 11, (entry) => entry.tag(1, WireType.LengthDelimited).string('__proto__'));
    });
    const { metadata } = namespaces(
      enveloped(
        'v1',
        'Namespace',
        message((w) => nested(w, 1, meta)),
      ),
    ) as {
      metadata: JsonObject;
    };
    assert.equal(metadata.name, 'n\u00e4\ufeff\u{1f600}');
    assert.equal(metadata.generation, 9_007_199_254_740_993n);
    assert.deepEqual(Object.entries(metadata.labels as object), [['__proto__', '']]);
  });

  it('given in pieces are put together, the last value counting; fields we do not know are skipped', () => {
    const raw = message((w) => {
      nested(w, 1, (meta) => meta.tag(1, WireType.LengthDelimited).string('first'));
      nested(w, 1, (meta) => meta.tag(2, WireType.LengthDelimited).string('base-'));
      nested(w, 1, (meta) => meta.tag(1, WireType.LengthDelimited).string(''));
      w.tag(99, WireType.Bit64).double(1);
      w.tag(98, WireType.StartGroup).tag(1, WireType.Varint).int32(1).tag(98, WireType.EndGroup);
    });
    assert.deepEqual(namespaces(enveloped('v1', 'Namespace', raw)).metadata, { generateName: 'base-' });
  });

  it('without a type are taken for what is expected, and of another type are not read', () => {
    const raw = message((w) => nested(w, 1, (meta) => meta.tag(1, WireType.LengthDelimited).string('x')));
    assert.deepEqual(namespaces(enveloped('', '', raw)).metadata, { name: 'x' });
    assert.deepEqual(namespaces(enveloped('v1', 'Secret', raw)), { apiVersion: 'v1', kind: 'Secret' });
    assert.deepEqual(deleteOptionsReader(enveloped('coordination.k8s.io/v1', 'DeleteOptions', new Uint8Array())), {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'DeleteOptions',
    });
  });

  it('that are broken are bad requests', () => {
    const meta = (write: (w: BinaryWriter) => unknown) => () =>
      namespaces(
        enveloped(
          'v1',
          'Namespace',
          message((w) => nested(w, 1, write)),
        ),
      );
    refused(() => namespaces(new Uint8Array()), /expected prefix \[107 56 115 0\]/);
    refused(() => namespaces(Buffer.from('{"kind":"Namespace"}')), /expected prefix/);
    refused(
      meta((w) => w.tag(1, WireType.Varint).int32(5)),
      /wrong wire type 0/,
    );
    refused(
      meta((w) => w.tag(7, WireType.LengthDelimited).string('5')),
      /wrong wire type 2/,
    );
    refused(
      meta((w) => w.tag(1, WireType.LengthDelimited).bytes(Uint8Array.of(0xff))),
      /Namespace in protobuf/,
    );
    refused(
      meta((w) => w.tag(1, WireType.LengthDelimited).uint32(0xffff_ffff)),
      /premature EOF/,
    );
    refused(
      meta((w) => nested(w, 8, (time) => time.tag(1, WireType.Varint).int64(253_402_300_800n))),
      /no time/,
    );
    const fields = (json: string) => (w: BinaryWriter) =>
      nested(w, 17, (e) => nested(e, 7, (f) => f.tag(1, WireType.LengthDelimited).string(json)));
    refused(meta(fields('{"f:a":')), /Namespace in protobuf/);
    const packed = message((w) => w.tag(3, WireType.LengthDelimited).string('gzip'));
    refused(() => namespaces(Buffer.concat([Buffer.from('k8s\0'), packed])), /encoded as gzip/);
  });

  it('deeper than any object is are bad requests', () => {
    const definitions = readerOf({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' });
    let schema: Uint8Array = new Uint8Array();
    for (let i = 0; i < 400; i++) schema = message((w) => nested(w, 28, schema));
    const path = [1, 4, 7, 2];
    for (const number of path) schema = message((w) => nested(w, number, schema));
    const type = 'apiextensions.k8s.io/v1';
    refused(() => definitions(enveloped(type, 'CustomResourceDefinition', schema)), /exceeded max depth/);
  });

  it('of random bytes are read or refused, never anything else', () => {
    const readers = CLIENT_GO.map((sent) => ({ sent, reader: readerOf(sent.json) }));
    const survives = (reader: ProtobufReader, bytes: Uint8Array) => {
      try {
        JSON.stringify(reader(bytes), (_, value) => (typeof value === 'bigint' ? String(value) : value));
      } catch (error) {
        assert.ok(error instanceof ApiError && error.reason === 'BadRequest', String(error));
      }
    };
    fc.assert(
      fc.property(fc.constantFrom(...readers), fc.uint8Array({ maxLength: 200 }), ({ sent, reader }, noise) => {
        survives(reader, Buffer.concat([Buffer.from('k8s\0'), noise]));
        survives(reader, enveloped(sent.json.apiVersion, sent.json.kind, noise));
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...readers),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
        fc.nat(),
        ({ sent, reader }, changes, end) => {
          const bytes = Buffer.from(sent.protobuf, 'base64');
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          survives(reader, bytes);
          survives(reader, bytes.subarray(0, end % bytes.length));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('have tables whose messages are all there', () => {
    for (const name of MESSAGE_NAMES) {
      for (const { type } of fieldsOf(name).values()) {
        assert.ok(isScalar(type) || fieldsOf(type), `${name} has a ${type}`);
      }
    }
    for (const name of Object.keys(SHAPES)) assert.ok(fieldsOf(name), name);
  });
});
