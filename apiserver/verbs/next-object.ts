import { rfc3339 } from '../../resources/ambient/clock.ts';
import { ApiError, type Cause, invalid } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import {
  isObject,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  type ObjectMeta,
  valueAt,
  withValueAt,
} from '../../resources/meta/object.ts';
import { decodeMetadata } from '../admission/decode-metadata.ts';
import { decodeStruct } from '../admission/decode-struct.ts';
import type { FieldValidation } from '../admission/field-validation.ts';
import { judgeFields } from '../admission/field-validation.ts';
import { addedFinalizerCauses, changedFixedCauses } from '../admission/metadata.ts';
import { pruneUnknown } from '../admission/structural.ts';
import { type Managers, sameOwners, writeManagers } from '../apply/managed-fields.ts';
import { afterUpdate } from '../apply/update.ts';
import { askerOf, type Identity } from '../auth/identity.ts';
import type { ServedKind } from '../registry/registry.ts';
import { defaultedDraft } from './defaulted-draft.ts';
import { keepWritten } from './status-writers.ts';
import type { ServerParts, VerbContext } from './verb-context.ts';
import { carryWritten, checkFinalizers, checkHostWrite } from './writers.ts';

/** Who writes what, and how strictly it is read. */
export interface WriteFrame {
  readonly parts: ServerParts;
  readonly served: ServedKind;
  readonly identity: Identity;
  readonly subresource: string | undefined;
  /** The name under which what this write sets is owned. */
  readonly manager: string;
  /** The subresource that owns it, where that is not the one written. */
  readonly ownedBy?: string;
}

/** The frame of a request's write. `option` is its `fieldManager`, which a request need not give. */
export function frameOf(
  { parts, served, identity, target, request }: VerbContext,
  option: string | undefined,
): WriteFrame {
  const manager = managerName(option, request.headers['user-agent']);
  return { parts, served, identity, subresource: target.subresource, manager };
}

const MAX_MANAGER_BYTES = 128;
/** What a character of a string can take in UTF-8. */
const MOST_BYTES_A_UNIT = 3;

/** The field manager given, else the program that asks, up to the slash of its User-Agent. */
function managerName(option: string | undefined, userAgent = ''): string {
  if (option !== undefined) return option;
  const program = (userAgent.split('/')[0] ?? '').replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '');
  const whole = program === '' ? 'unknown' : program;
  if (whole.length * MOST_BYTES_A_UNIT <= MAX_MANAGER_BYTES) return whole;
  let name = '';
  for (const rune of whole) {
    if (new TextEncoder().encode(name + rune).length > MAX_MANAGER_BYTES) break;
    name += rune;
  }
  return name;
}

/** Drops fields no schema knows, telling them as the directive wants. Answers the object and the warnings. */
export function knownFields(
  kind: Kind,
  sent: JsonObject,
  duplicates: readonly string[],
  directive: FieldValidation,
): { readonly object: JsonObject & { metadata: JsonObject }; readonly warnings: readonly string[] } {
  // Unknown fields go first, as they may be many.
  const { object: pruned, ...found } = pruneUnknown(decodeMetadata(kind, sent), kind.schema);
  const decoded = decodeStruct(kind, pruned);
  const { object, unknown } = kind.rules.prune?.(decoded) ?? { object: decoded, unknown: [] };
  const findings = { ...found, duplicates, unknown: [...found.unknown, ...unknown] };
  const warnings = judgeFields(kind, findings, directive);
  return { object: { ...object, metadata: isObject(object.metadata) ? object.metadata : {} }, warnings };
}

/**
 * A new object from what a client sent: system metadata, defaults, admission, then every check. Throws what a client is to be told.
 * `managers` own it when it comes of an apply, else whoever writes it does.
 */
export function newObject(
  frame: WriteFrame,
  sent: JsonObject & { metadata: JsonObject },
  name: string,
  namespace: string | undefined,
  managers?: Managers,
): KubeObject {
  const { parts, served } = frame;
  const { kind } = served;
  const metadata = {
    ...sentMetadata(sent.metadata),
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: parts.ids.uid(),
    resourceVersion: '',
    ...(kind.generations ? { generation: 1 } : {}),
    creationTimestamp: instantOf(parts),
  };
  const { status, ...rest } = sent;
  const draft = defaultedDraft(
    kind,
    { ...rest, ...(kind.status || status === undefined ? {} : { status }), metadata },
    refusedNulls(managers),
  ) as JsonObject;
  const object = carryWritten(frame, undefined, draft as KubeObject);
  checkFinalizers(frame, undefined, object);
  checkHostWrite(frame, undefined, object);
  const made = admitted(frame, object, undefined);
  const owned = withRecord(made, recordOf(frame, undefined, made, sent.metadata.managedFields, managers));
  return checked(frame, owned, undefined);
}

/** An applied null is owned, so it cannot just go: the real server refuses it where the field has no default. */
const refusedNulls = (managers: Managers | undefined) => (managers === undefined ? 'go' : 'stay');

/** Now, as objects tell times. */
export const instantOf = ({ clock }: ServerParts) => rfc3339(clock.now());

/**
 * The object that an update wishes for, on top of what stands: what the caller may not set is taken from what stands. Answers `before`
 * itself when nothing changes but times of its managedFields. `managers` own it after an apply.
 */
export function nextObject(
  frame: WriteFrame,
  before: KubeObject,
  wanted: JsonObject & { metadata: JsonObject },
  managers?: Managers,
): KubeObject {
  const { kind } = frame.served;
  const fixed = frame.subresource === undefined ? changedFixedCauses(wanted.metadata, before) : [];
  if (fixed.length > 0) throw invalid(kind, before.metadata.name, [...fixed, ...fixed]);
  const draft = written(frame, before, partOf(frame, before, wanted));
  const next = admitted(frame, defaultedDraft(kind, draft, refusedNulls(managers)) as KubeObject, before);
  const same = jsonEqual(next, before);
  const { managedFields } = before.metadata;
  const sent = wanted.metadata.managedFields;
  if (same && managers === undefined && (sent === undefined || jsonEqual(sent, managedFields))) return before;
  const record = recordOf(frame, before, next, sent, managers);
  if (same && sameOwners(record, managedFields)) return before;
  const object =
    kind.generations && changedBeyondMetadata(kind, before, next)
      ? { ...next, metadata: { ...next.metadata, generation: (before.metadata.generation ?? 0) + 1 } }
      : next;
  return checked(frame, withRecord(object, record), before);
}

/** The draft with what the caller leaves to other writers. Throws where it does not. */
function written(frame: WriteFrame, before: KubeObject, draft: KubeObject): KubeObject {
  if (frame.subresource === 'status') return keepWritten(frame, before, draft);
  if (jointOf(frame) !== undefined) return keepWritten(frame, before, carryWritten(frame, before, draft));
  if (frame.subresource !== undefined) return draft;
  const carried = carryWritten(frame, before, draft);
  checkFinalizers(frame, before, carried);
  checkHostWrite(frame, before, carried);
  return carried;
}

const jointOf = ({ served, subresource }: WriteFrame) =>
  subresource === undefined ? undefined : served.kind.joint[subresource];

/** Who owns what of an object that is about to be written. `sent` is the record that a client sent along. */
function recordOf(
  { parts, served, subresource, manager, ownedBy }: WriteFrame,
  before: KubeObject | undefined,
  after: KubeObject,
  sent: unknown,
  managers: Managers | undefined,
): ObjectMeta['managedFields'] {
  if (managers !== undefined) return writeManagers(managers);
  const writer = { kind: served.kind, manager, subresource: ownedBy ?? subresource, now: instantOf(parts) };
  return afterUpdate(writer, before, after, sent);
}

function withRecord(object: KubeObject, record: ObjectMeta['managedFields']): KubeObject {
  const { managedFields, ...metadata } = object.metadata;
  if (managedFields === record) return object;
  return { ...object, metadata: record === undefined ? metadata : { ...metadata, managedFields: record } };
}

/** What of the wish this route writes: the status, one part, several paths, or all but the status. */
function partOf(frame: WriteFrame, before: KubeObject, wanted: JsonObject & { metadata: JsonObject }): KubeObject {
  const { kind } = frame.served;
  if (frame.subresource === 'status') return withValueAt(before, ['status'], wanted.status);
  const part = frame.subresource === undefined ? undefined : kind.parts[frame.subresource];
  if (part !== undefined) return withValueAt(before, part, valueAt(wanted, part));
  const joint = jointOf(frame);
  if (joint !== undefined)
    return joint.reduce((whole, path) => withValueAt(whole, path, valueAt(wanted, path)), before);
  const metadata = { ...sentMetadata(wanted.metadata), ...systemMetadata(before.metadata) } as ObjectMeta;
  const sent: KubeObject = { ...wanted, apiVersion: before.apiVersion, kind: before.kind, metadata };
  // A part has a route of its own, and is written by no other.
  const object = Object.values(kind.parts).reduce((whole, path) => {
    return jsonEqual(valueAt(whole, path), valueAt(before, path))
      ? whole
      : withValueAt(whole, path, valueAt(before, path));
  }, sent);
  return kind.status ? withValueAt(object, ['status'], before.status) : object;
}

/** The metadata a client may set. The name and namespace are those of the route. */
function sentMetadata(metadata: JsonObject): Partial<ObjectMeta> {
  const { generateName, labels, annotations, finalizers, ownerReferences } = metadata;
  const kept = { generateName, labels, annotations, finalizers, ownerReferences };
  return only(kept, (value) => value !== undefined && value !== null && !isEmpty(value)) as Partial<ObjectMeta>;
}

function isEmpty(value: unknown): boolean {
  return (
    value === '' || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)
  );
}

/** The metadata only the server sets. */
function systemMetadata(metadata: ObjectMeta): Partial<ObjectMeta> {
  const { name, namespace, generateName, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds, managedFields } = metadata;
  const all = {
    name,
    namespace,
    generateName,
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    managedFields,
  };
  return only(all, (value) => value !== undefined) as Partial<ObjectMeta>;
}

/** The fields whose value is fit. */
function only(fields: JsonObject, isFit: (value: unknown) => boolean): JsonObject {
  const kept: JsonObject = {};
  for (const name in fields) {
    const value = fields[name];
    if (isFit(value)) kept[name] = value;
  }
  return kept;
}

function admitted(frame: WriteFrame, draft: KubeObject, previous: KubeObject | undefined): KubeObject {
  const { parts, served, identity } = frame;
  const { admit } = served.kind.rules;
  if (admit === undefined) return draft;
  return admit(draft, previous, { world: parts.cache.world, nowMs: parts.clock.now(), asker: askerOf(identity) });
}

function changedBeyondMetadata(kind: Kind, before: KubeObject, after: KubeObject): boolean {
  const rest = ({ metadata: _, status, ...spec }: KubeObject) => (kind.status ? spec : { ...spec, status });
  return !jsonEqual(rest(before), rest(after));
}

function checked({ served }: WriteFrame, object: KubeObject, before: KubeObject | undefined): KubeObject {
  const { kind, validate } = served;
  const added = before === undefined ? [] : addedFinalizerCauses(object, before);
  // A real server looks at these twice and says so twice.
  const causes: Cause[] = [...added, ...added, ...validate(object, before)];
  if (causes.length > 0) throw invalid(kind, object.metadata.name, causes);
  return object;
}

/** 400 when a body does not name the object of the URL. */
export function checkNames(metadata: JsonObject, name: string, namespace: string | undefined): void {
  const sent = metadata.name ?? '';
  if (sent === '') {
    const why = 'name must be provided';
    throw new ApiError('BadRequest', `the name of the object (${name} based on URL) was undeterminable: ${why}`);
  }
  if (sent !== name) {
    const why = `the name of the object (${String(sent)}) does not match the name on the URL (${name})`;
    throw new ApiError('BadRequest', why);
  }
  checkNamespace(metadata, namespace);
}

/** 400 when a body is for another namespace than the URL. */
export function checkNamespace(metadata: JsonObject, namespace: string | undefined): void {
  const sent = metadata.namespace ?? '';
  if (namespace === undefined || sent === '' || sent === namespace) return;
  const why = 'the namespace of the provided object does not match the namespace sent on the request';
  throw new ApiError('BadRequest', why);
}
