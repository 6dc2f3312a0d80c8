import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { decodeMessage } from './decode-message.ts';
import type { MessageName } from './messages.ts';

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

/** Before every message: `k8s` and a zero byte. */
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/**
 * The kinds whose objects may be sent as protobuf, with their message: those for which Kubernetes publishes one. Objects of any other kind
 * are JSON or YAML.
 */
const MESSAGES: Readonly<Record<string, MessageName>> = {
  'v1 ConfigMap': 'ConfigMap',
  'v1 Event': 'CoreEvent',
  'v1 Namespace': 'Namespace',
  'v1 Secret': 'Secret',
  'v1 ServiceAccount': 'ServiceAccount',
  'apiextensions.k8s.io/v1 CustomResourceDefinition': 'CustomResourceDefinition',
  'authentication.k8s.io/v1 SelfSubjectReview': 'SelfSubjectReview',
  'authentication.k8s.io/v1 TokenRequest': 'TokenRequest',
  'authentication.k8s.io/v1 TokenReview': 'TokenReview',
  'authorization.k8s.io/v1 LocalSubjectAccessReview': 'SubjectAccessReview',
  'authorization.k8s.io/v1 SelfSubjectAccessReview': 'SelfSubjectAccessReview',
  'authorization.k8s.io/v1 SelfSubjectRulesReview': 'SelfSubjectRulesReview',
  'authorization.k8s.io/v1 SubjectAccessReview': 'SubjectAccessReview',
  'coordination.k8s.io/v1 Lease': 'Lease',
  'events.k8s.io/v1 Event': 'Event',
};

/** Makes JSON of a body in protobuf. Throws BadRequest on what is none. */
export type ProtobufReader = (body: Uint8Array) => JsonObject;

/** How objects of a kind are read from protobuf; undefined when they may not be sent so. */
export function protobufReader(kind: Pick<Kind, 'group' | 'version' | 'kind'>): ProtobufReader | undefined {
  const apiVersion = apiVersionOf(kind);
  const message = MESSAGES[`${apiVersion} ${kind.kind}`];
  if (message === undefined) return undefined;
  return (body) => {
    const envelope = readEnvelope(body);
    const type = typeOf(envelope);
    // Another kind's bytes are not read as this one's; whoever checks the type says what is wrong.
    const other = Object.entries({ apiVersion, kind: kind.kind }).some(([name, own]) => (type[name] ?? own) !== own);
    return other ? type : { ...type, ...decode(message, envelope.raw) };
  };
}

/** DeleteOptions, which clients send in the group and version of what they delete. */
export const deleteOptionsReader: ProtobufReader = (body) => {
  const envelope = readEnvelope(body);
  const type = typeOf(envelope);
  return (type.kind ?? 'DeleteOptions') === 'DeleteOptions'
    ? { ...type, ...decode('DeleteOptions', envelope.raw) }
    : type;
};

const typeOf = ({ typeMeta }: JsonObject): JsonObject => (isObject(typeMeta) ? typeMeta : {});

function readEnvelope(body: Uint8Array): JsonObject {
  if (!MAGIC.every((byte, i) => body[i] === byte)) {
    const message = `provided data does not appear to be a protobuf message, expected prefix [${MAGIC.join(' ')}]`;
    throw new ApiError('BadRequest', message);
  }
  const envelope = decode('Unknown', body.subarray(MAGIC.length));
  if (envelope.contentEncoding !== undefined) {
    throw new ApiError('BadRequest', `the protobuf message is encoded as ${String(envelope.contentEncoding)}`);
  }
  return envelope;
}

function decode(message: MessageName, bytes: unknown): JsonObject {
  try {
    return decodeMessage(message, bytes instanceof Uint8Array ? bytes : new Uint8Array());
  } catch (error) {
    // The wire reader has no error class of its own; nothing but bytes goes in here, so what comes out is about them.
    const why = error instanceof Error ? error.message : String(error);
    throw new ApiError('BadRequest', `the body is no ${message} in protobuf: ${why}`, { cause: error });
  }
}
