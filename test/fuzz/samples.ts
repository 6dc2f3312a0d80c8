import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';

/** A resource requests are made to, with objects that are right. */
export interface Sample {
  /** Of a collection; `*` stands for a namespace. */
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Everything but apiVersion, kind and metadata. */
  readonly bodies: readonly JsonObject[];
  readonly subresources: readonly string[];
  /** The names its objects go by here. */
  readonly names: readonly string[];
}

const TESTS = join(import.meta.dirname, '..');

/** The definitions of the recorded scenarios. */
export const DEFINITIONS: readonly JsonObject[] = loadAll(
  readFileSync(join(TESTS, 'kubectl', 'files', 'crds.yaml'), 'utf8'),
).filter(isObject);

const WIDGETS: readonly JsonObject[] = [
  { spec: { size: 'small', replicas: 2, tags: ['a', 'b'], parts: [{ name: 'p', count: 1 }], port: 'http' } },
  {
    spec: { size: 'large', pattern: 'abc', labels: { a: 'b' }, anything: { x: [1, { y: 2 }] }, serial: 7, ratio: 0.5 },
    status: { phase: 'Up', replicas: 1, selector: 'a=b', conditions: [{ type: 'Ready', status: 'True' }] },
  },
];

const sample = (
  path: string,
  apiVersion: string,
  kind: string,
  bodies: readonly JsonObject[],
  subresources: readonly string[] = ['status'],
  names: readonly string[] = ['a', 'b', 'c'],
): Sample => ({ path, apiVersion, kind, bodies, subresources, names });

const inside = (version: string, plural: string) =>
  `${version.includes('/') ? '/apis' : '/api'}/${version}/namespaces/*/${plural}`;

/** A small definition in a group of its own, with schemas, rules and columns that are right; they are what is made wrong. */
function definition(names: string, schema: JsonObject): JsonObject {
  return {
    spec: {
      group: 'fuzz.example.com',
      scope: 'Namespaced',
      names: { plural: names, singular: names.slice(0, -1), kind: names, listKind: `${names}List`, shortNames: [] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: schema, status: { type: 'object' } } } },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
          additionalPrinterColumns: [
            { name: 'N', type: 'integer', jsonPath: '.spec.n' },
            { name: 'C', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1 },
          ],
          selectableFields: [{ jsonPath: '.spec.name' }],
        },
      ],
    },
  };
}

const SCHEMAS: readonly JsonObject[] = [
  {
    type: 'object',
    required: ['n'],
    properties: {
      n: { type: 'integer', format: 'int32', minimum: 0, maximum: 9, multipleOf: 1, default: 1 },
      name: { type: 'string', pattern: '^(a|b)*[a-z]{1,20}$', maxLength: 40, enum: ['a', 'b', 'ab'] },
      list: {
        type: 'array',
        maxItems: 10,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: { type: 'number' } } },
      },
      map: { type: 'object', additionalProperties: { type: 'string', format: 'date-time', nullable: true } },
      any: { 'x-kubernetes-preserve-unknown-fields': true },
      either: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    },
    oneOf: [{ required: ['name'] }, { required: ['list'] }],
  },
  {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      names: { type: 'array', maxItems: 20, items: { type: 'string', maxLength: 9 } },
    },
    'x-kubernetes-validations': [
      { rule: 'self.n > 0 || self.names.all(x, x.matches("^[a-z]+$"))', message: 'none', reason: 'FieldValueInvalid' },
      { rule: 'self.n >= oldSelf.n', messageExpression: '"n was " + string(oldSelf.n)', fieldPath: '.n' },
      { rule: 'self.names.map(x, x.size()).sum() < 100 && !self.names.exists_one(x, x == "a")' },
      { rule: 'quantity("1Gi").isGreaterThan(quantity("1Mi")) && url("https://a/b").getHost() == "a"' },
    ],
  },
];

const TABLE: readonly Sample[] = [
  sample('/api/v1/namespaces', 'v1', 'Namespace', [{}], ['status', 'finalize'], ['n1', 'n2', 'red', 'default']),
  sample(inside('v1', 'configmaps'), 'v1', 'ConfigMap', [
    { data: { a: 'x', 'b.txt': 'y\nz' } },
    { binaryData: { c: 'AAECAw==' }, immutable: true },
  ]),
  sample(inside('v1', 'secrets'), 'v1', 'Secret', [
    { type: 'Opaque', data: { a: 'aGk=' }, stringData: { b: 'x' } },
    { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } },
    { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': '{"auths":{}}' } },
  ]),
  sample(
    inside('v1', 'serviceaccounts'),
    'v1',
    'ServiceAccount',
    [{ secrets: [{ name: 's' }], automountServiceAccountToken: false }],
    ['token', 'status'],
  ),
  sample(inside('v1', 'events'), 'v1', 'Event', [
    {
      involvedObject: { kind: 'VM', namespace: 'red', name: 'a', uid: 'u', apiVersion: 'coppice.dev/v1' },
      reason: 'R',
      message: 'm',
      type: 'Normal',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'c' },
    },
  ]),
  sample(inside('events.k8s.io/v1', 'events'), 'events.k8s.io/v1', 'Event', [
    {
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'c',
      reportingInstance: 'i',
      action: 'A',
      reason: 'R',
      type: 'Warning',
      note: 'n',
      regarding: { kind: 'VM', namespace: 'red', name: 'a' },
      series: { count: 2, lastObservedTime: '2026-01-01T00:00:00.000000Z' },
    },
  ]),
  sample(inside('coordination.k8s.io/v1', 'leases'), 'coordination.k8s.io/v1', 'Lease', [
    { spec: { holderIdentity: 'h', leaseDurationSeconds: 10, renewTime: '2026-01-01T00:00:00.000000Z' } },
  ]),
  sample('/apis/coppice.dev/v1/tenants', 'coppice.dev/v1', 'Tenant', [{ spec: {} }], ['status'], ['red', 'blue']),
  sample(
    '/apis/coppice.dev/v1/hosts',
    'coppice.dev/v1',
    'Host',
    [
      {
        spec: { group: 'default', cordoned: false },
        status: {
          allocatable: { vcpus: 8, memory: '16Gi' },
          driver: { name: 'sim', version: '1', accelerator: 'simulated', guestOS: ['linux'] },
          macosSlots: { total: 2, used: 0 },
          images: [{ name: 'tiny', digest: 'sha256:aa', size: '10Mi' }],
          conditions: [
            { type: 'Ready', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
          ],
        },
      },
    ],
    ['status', 'control', 'dialback'],
  ),
  sample(
    '/apis/coppice.dev/v1/images',
    'coppice.dev/v1',
    'Image',
    [{ spec: { guestOS: 'linux', source: { path: 'tiny' }, defaults: { vcpus: 2, memory: '4Gi' } } }],
    ['status'],
    ['tiny', 'other'],
  ),
  sample('/apis/coppice.dev/v1/policies', 'coppice.dev/v1', 'Policy', [{ spec: {} }], ['status'], ['default', 'a']),
  sample(
    inside('coppice.dev/v1', 'vms'),
    'coppice.dev/v1',
    'VM',
    [
      { spec: { image: 'tiny', size: 'small', power: 'Running', ttl: '8h' } },
      {
        spec: {
          image: 'tiny',
          size: { vcpus: 2, memory: '4Gi' },
          hostSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        },
        status: { phase: 'Running', host: 'a', guest: { id: 'g', power: 'Running', epoch: 1 } },
      },
    ],
    ['status', 'exec', 'logs'],
  ),
  sample(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    [
      ...DEFINITIONS.map(({ spec }) => ({ spec })),
      ...SCHEMAS.flatMap((schema) => [definition('aas', schema), definition('bbs', schema)]),
    ],
    ['status'],
    ['widgets.demo.example.com', 'gadgets.demo.example.com', 'aas.fuzz.example.com', 'bbs.fuzz.example.com'],
  ),
  sample(inside('demo.example.com/v1', 'widgets'), 'demo.example.com/v1', 'Widget', WIDGETS, ['status', 'scale']),
  sample('/apis/demo.example.com/v1/gadgets', 'demo.example.com/v1', 'Gadget', [{ spec: { a: 1 } }], []),
  sample(
    inside('fuzz.example.com/v1', 'aas'),
    'fuzz.example.com/v1',
    'aas',
    [
      { spec: { n: 1, name: 'ab', map: { a: null }, any: [1], either: 'x' } },
      { spec: { n: 2, list: [{ k: 'a', v: 1 }], names: ['x', 'y'] } },
    ],
    ['status', 'scale'],
  ),
];

const review = (group: string, kind: string, plural: string, spec: JsonObject): Sample =>
  sample(`/apis/${group}/v1/${plural}`, `${group}/v1`, kind, [{ spec }], [], ['a']);

const AUTHORIZATION = 'authorization.k8s.io';
const RESOURCE = {
  resourceAttributes: { verb: 'get', group: 'coppice.dev', resource: 'vms', namespace: 'red', name: 'a' },
};

const QUESTIONS: readonly Sample[] = [
  review(AUTHORIZATION, 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', RESOURCE),
  review(AUTHORIZATION, 'SubjectAccessReview', 'subjectaccessreviews', { ...RESOURCE, user: 'u', groups: ['g'] }),
  review(AUTHORIZATION, 'SubjectAccessReview', 'subjectaccessreviews', {
    nonResourceAttributes: { path: '/version', verb: 'get' },
    user: 'u',
  }),
  review(AUTHORIZATION, 'SelfSubjectRulesReview', 'selfsubjectrulesreviews', { namespace: 'red' }),
  sample(
    inside(`${AUTHORIZATION}/v1`, 'localsubjectaccessreviews'),
    `${AUTHORIZATION}/v1`,
    'LocalSubjectAccessReview',
    [{ spec: { ...RESOURCE, user: 'u' } }],
  ),
  review('authentication.k8s.io', 'TokenReview', 'tokenreviews', { token: 'a.b.c', audiences: ['x'] }),
  review('authentication.k8s.io', 'SelfSubjectReview', 'selfsubjectreviews', {}),
  sample(
    '/api/v1/namespaces/*/serviceaccounts/a/token',
    'authentication.k8s.io/v1',
    'TokenRequest',
    [{ spec: { audiences: ['a'], expirationSeconds: 600, boundObjectRef: { kind: 'Secret', name: 'a' } } }],
    [],
    [''],
  ),
];

export const SAMPLES: readonly Sample[] = [...TABLE, ...QUESTIONS];

/** Recorded bodies in protobuf with where they were sent. */
export const PROTOBUF: readonly { readonly url: string; readonly bytes: Buffer }[] = ['kubectl', 'client-go'].flatMap(
  (name) =>
    readFileSync(join(TESTS, 'apiserver', 'protobuf', `${name}.jsonl`), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { url?: string; protobuf: string })
      .map(({ url = '/api/v1/namespaces/default/configmaps', protobuf }) => ({
        url,
        bytes: Buffer.from(protobuf, 'base64'),
      })),
);
