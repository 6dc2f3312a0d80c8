import type { JsonObject } from '../../resources/meta/object.ts';
import { jsonText, malformBytes, malformValue } from './malform-json.ts';
import { yamlText } from './malform-yaml.ts';
import { oddText, oddValue } from './odd-values.ts';
import type { Random } from './random.ts';
import type { Sample } from './samples.ts';

export interface Body {
  readonly type: string;
  readonly bytes: Buffer;
}

/** An object of a sample, as it should be. */
function objectOf(random: Random, sample: Sample): JsonObject {
  const { apiVersion, kind, names } = sample;
  const metadata: JsonObject = {
    name: random.pick(names),
    ...(random.oneIn(4) ? { labels: { a: 'b', 'x.dev/y': '' }, annotations: { n: 'x' } } : {}),
    ...(random.oneIn(12) ? { finalizers: ['x.dev/hold'] } : {}),
    ...(random.oneIn(12) ? { resourceVersion: random.pick(['1', '0', '', '99']), uid: 'u' } : {}),
    ...(random.oneIn(12)
      ? { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u', controller: true }] }
      : {}),
    ...(random.oneIn(12)
      ? {
          managedFields: [
            {
              manager: 'm',
              operation: 'Apply',
              apiVersion,
              fieldsType: 'FieldsV1',
              fieldsV1: { 'f:spec': { '.': {} } },
            },
          ],
        }
      : {}),
  };
  return { apiVersion, kind, metadata, ...structuredClone(random.pick(sample.bodies)) };
}

/** An object as the body of a create or update, right one time in five. */
export function objectBody(random: Random, sample: Sample): Body {
  const object = objectOf(random, sample);
  return encodedBody(random, random.oneIn(5) ? object : malformValue(random, object));
}

function encodedBody(random: Random, value: unknown): Body {
  const yaml = random.oneIn(4);
  const text = yaml ? yamlText(random, value) : jsonText(random, value);
  const bytes = Buffer.from(text);
  return {
    type: yaml ? 'application/yaml' : 'application/json',
    bytes: random.oneIn(10) ? malformBytes(random, bytes) : bytes,
  };
}

const SCALES: readonly JsonObject[] = [
  { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' }, spec: { replicas: 3 } },
  { spec: { replicas: -1 } },
];

export function scaleBody(random: Random): Body {
  return encodedBody(random, malformValue(random, random.pick(SCALES)));
}

export function deleteBody(random: Random): Body {
  const options = {
    apiVersion: random.pick(['v1', 'meta.k8s.io/v1', 'coppice.dev/v1']),
    kind: 'DeleteOptions',
    propagationPolicy: random.pick(['Foreground', 'Background', 'Orphan']),
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u', resourceVersion: '1' },
    dryRun: ['All'],
  };
  return encodedBody(random, malformValue(random, options));
}

const POINTERS: readonly string[] = [
  '',
  '/',
  '/spec',
  '/spec/size',
  '/spec/tags/0',
  '/spec/tags/-',
  '/spec/tags/-1',
  '/spec/tags/00',
  '/spec/tags/+1',
  '/spec/tags/1e0',
  '/spec/tags/99999999999999999999',
  '/spec/parts/0/name',
  '/data/a',
  '/data/b.txt',
  '/metadata',
  '/metadata/labels',
  '/metadata/labels/x.dev~1y',
  '/metadata/name',
  '/metadata/resourceVersion',
  '/metadata/managedFields',
  '/metadata/finalizers',
  '/status',
  '/apiVersion',
  '/__proto__/x',
  '/constructor/prototype/x',
  '/spec/__proto__',
  '/a~2b',
  '/a~',
  'spec',
  '//',
  `${'/a'.repeat(600)}`,
];

function jsonPatch(random: Random): unknown {
  const length = random.oneIn(30) ? random.pick([200, 10_001]) : 1 + random.below(4);
  // The long ones are about their length.
  if (length > 10) return Array.from({ length }, () => ({ op: 'test', path: random.pick(POINTERS), value: 1 }));
  return Array.from({ length }, () => ({
    op: random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
    path: random.oneIn(8) ? oddText(random) : random.pick(POINTERS),
    ...(random.oneIn(2) ? { from: random.pick(POINTERS) } : {}),
    ...(random.oneIn(4) ? {} : { value: oddValue(random, 1) }),
  }));
}

/** Copies of copies: each doubles what is there. */
function growingPatch(): unknown {
  const copy = (from: string, path: string) => ({ op: 'copy', from, path });
  return Array.from({ length: 60 }, (_, i) => copy('/metadata', `/metadata/labels/${i}`));
}

const DIRECTIVES: readonly JsonObject[] = [
  { $patch: 'replace' },
  { $patch: 'delete' },
  { $patch: 'merge' },
  { $patch: 'x' },
  { $patch: 1 },
  { $retainKeys: ['size'] },
  { $retainKeys: 'size' },
  { '$setElementOrder/finalizers': ['b', 'a'] },
  { '$setElementOrder/ownerReferences': [{ uid: 'u' }, 1] },
  { '$deleteFromPrimitiveList/finalizers': ['x.dev/hold'] },
  { '$deleteFromPrimitiveList/finalizers': 'x' },
  { ownerReferences: [{ $patch: 'delete', uid: 'u' }, { $patch: 'replace' }, null] },
  { finalizers: [{ $patch: 'replace' }] },
];

function strategicPatch(random: Random, sample: Sample): unknown {
  const { metadata, ...rest } = objectOf(random, sample);
  const directive = () => random.pick(DIRECTIVES);
  const body = random.oneIn(2) ? { metadata, ...rest, ...directive() } : { ...directive(), ...directive() };
  return malformValue(random, { ...body, metadata: { ...(metadata as JsonObject), ...directive() } });
}

/** A patch of one of the four types. */
export function patchBody(random: Random, sample: Sample): Body {
  const json = (type: string, value: unknown): Body => ({ type, bytes: Buffer.from(jsonText(random, value)) });
  const some = () => malformValue(random, objectOf(random, sample));
  return random.one<Body>(
    () => json('application/json-patch+json', random.oneIn(10) ? growingPatch() : jsonPatch(random)),
    () => json('application/json-patch+json', malformValue(random, jsonPatch(random))),
    () => json('application/merge-patch+json', some()),
    () => json('application/strategic-merge-patch+json', strategicPatch(random, sample)),
    () => ({ type: 'application/apply-patch+yaml', bytes: Buffer.from(yamlText(random, some())) }),
    () => json('application/apply-patch+yaml', some()),
  );
}

/** A recorded message with its envelope, its lengths or its fields changed. */
export function protobufBody(random: Random, recorded: Buffer): Body {
  const type = 'application/vnd.kubernetes.protobuf';
  const field = (number: number, wire: number, payload: Buffer) =>
    Buffer.concat([varint(number * 8 + wire), ...(wire === 2 ? [varint(payload.length)] : []), payload]);
  const deep = () => {
    let inner = Buffer.alloc(0);
    for (let i = 0; i < 400; i++) inner = field(1, 2, inner);
    return inner;
  };
  const bytes = random.one(
    () => malformBytes(random, recorded),
    () => Buffer.concat([recorded.subarray(0, 4), malformBytes(random, recorded.subarray(4), 1)]),
    () => recorded.subarray(0, random.below(recorded.length)),
    () => Buffer.concat([recorded, field(1 + random.below(20), random.below(8), random.bytes(random.below(9)))]),
    () => Buffer.concat([recorded.subarray(0, 4), field(2, 2, deep())]),
    () => Buffer.concat([recorded, field(2, 2, random.bytes(6)), field(3, 2, Buffer.from('gzip'))]),
    () => Buffer.concat([recorded.subarray(0, 4), Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0x0f])]),
    () => recorded,
  );
  return { type, bytes };
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 0x80);
  }
}
