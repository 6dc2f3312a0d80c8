import type { Cause } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import {
  labelProblems,
  labelValueProblems,
  qualifiedNameProblems,
  segmentProblems,
  subdomainProblems,
} from '../../resources/meta/names.ts';
import type { JsonObject, KubeObject, ObjectMeta, OwnerReference } from '../../resources/meta/object.ts';
import { forbiddenField, invalidValue, requiredValue, tooLong } from './causes.ts';

/** Keys and values of all annotations together, in bytes of UTF-8. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** What is wrong with an object's metadata, whose shape `decodeMetadata` has assured. Names are generated before this. */
export function validateMetadata(kind: Pick<Kind, 'namespaced' | 'nameRule' | 'origin'>, object: KubeObject): Cause[] {
  const meta: Partial<ObjectMeta> = object.metadata;
  return [
    ...generateNameCauses(kind, meta.generateName),
    ...nameCauses(kind, meta.name),
    ...namespaceCauses(kind, meta.namespace),
    ...labelCauses(meta.labels ?? {}),
    ...annotationCauses(meta.annotations ?? {}),
    ...ownerCauses(meta.ownerReferences ?? []),
    ...finalizerCauses(kind, meta.finalizers ?? []),
  ];
}

/** More are not looked for in a part of the metadata: nobody reads them. */
const MOST_CAUSES = 1_000;

/** What is wrong with the items of a part, up to a thousand and whatever else the last of these has. */
function causesOf<T>(items: readonly T[], causes: (item: T, i: number) => readonly Cause[]): Cause[] {
  const found: Cause[] = [];
  for (const [i, item] of items.entries()) {
    if (found.length >= MOST_CAUSES) break;
    found.push(...causes(item, i));
  }
  return found;
}

const NAME_PROBLEMS = { label: labelProblems, subdomain: subdomainProblems, segment: segmentProblems } as const;

const nameProblems = (kind: Pick<Kind, 'nameRule'>, name: string) => NAME_PROBLEMS[kind.nameRule](name);

function nameCauses(kind: Pick<Kind, 'nameRule'>, name: string | undefined): Cause[] {
  if (name === undefined || name === '') return [requiredValue('metadata.name', 'name or generateName is required')];
  return nameProblems(kind, name).map((problem) => invalidValue('metadata.name', name, problem));
}

/** A base for names may end in a dash, as letters follow it. */
function generateNameCauses(kind: Pick<Kind, 'nameRule'>, base: string | undefined): Cause[] {
  if (base === undefined || base === '') return [];
  const start = base.length > 1 && base.endsWith('-') ? `${base.slice(0, -1)}a` : base;
  return nameProblems(kind, start).map((problem) => invalidValue('metadata.generateName', base, problem));
}

function namespaceCauses(kind: Pick<Kind, 'namespaced'>, namespace: string | undefined): Cause[] {
  if (!kind.namespaced) {
    return namespace === undefined || namespace === ''
      ? []
      : [forbiddenField('metadata.namespace', 'not allowed on this type')];
  }
  if (namespace === undefined || namespace === '') return [requiredValue('metadata.namespace')];
  return labelProblems(namespace).map((problem) => invalidValue('metadata.namespace', namespace, problem));
}

function labelCauses(labels: Readonly<Record<string, string>>): Cause[] {
  return causesOf(Object.entries(labels), ([key, value]) => [
    ...qualifiedNameProblems(key).map((problem) => invalidValue('metadata.labels', key, problem)),
    ...labelValueProblems(value).map((problem) => invalidValue('metadata.labels', value, problem)),
  ]);
}

function annotationCauses(annotations: Readonly<Record<string, string>>): Cause[] {
  const causes = causesOf(Object.keys(annotations), (key) =>
    // Unlike a label's, an annotation's key may have capitals in its prefix.
    qualifiedNameProblems(key.toLowerCase()).map((problem) => invalidValue('metadata.annotations', key, problem)),
  );
  if (bytesOf(annotations) > MAX_ANNOTATION_BYTES) causes.push(tooLong('metadata.annotations', MAX_ANNOTATION_BYTES));
  return causes;
}

const ENCODER = new TextEncoder();
const utf8Length = (text: string) => ENCODER.encode(text).length;
/** What a character of a string can take in UTF-8. */
const MOST_BYTES_A_UNIT = 3;

/** The bytes of annotations, counted one by one only where they may be too many. */
function bytesOf(annotations: Readonly<Record<string, string>>): number {
  let units = 0;
  for (const key of Object.keys(annotations)) units += key.length + (annotations[key]?.length ?? 0);
  const most = units * MOST_BYTES_A_UNIT;
  if (most <= MAX_ANNOTATION_BYTES) return most;
  return Object.entries(annotations)
    .flat()
    .reduce((sum, text) => sum + utf8Length(text), 0);
}

function ownerCauses(owners: readonly Partial<OwnerReference>[]): Cause[] {
  const causes = causesOf(owners, (owner, i) => {
    const at = `metadata.ownerReferences[${i}]`;
    const empty = (['kind', 'name', 'uid'] as const).filter((field) => (owner[field] ?? '') === '');
    return [
      ...(/^([^/]+\/)?[^/]+$/.test(owner.apiVersion ?? '')
        ? []
        : [invalidValue(`${at}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty')]),
      ...empty.map((field) => invalidValue(`${at}.${field}`, '', `${field} must not be empty`)),
    ];
  });
  const controllers = owners.filter((owner) => owner.controller === true);
  const [first, second] = controllers;
  if (first !== undefined && second !== undefined) {
    const which = `${first.kind}/${first.name}`;
    const other = `${second.kind}/${second.name}`;
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${which} and ${other}`;
    causes.push({
      reason: 'FieldValueInvalid',
      field: 'metadata.ownerReferences',
      message: `Invalid value: "references": ${why}`,
    });
  }
  return causes;
}

/** Built-in kinds take finalizers of their own by bare names, others must be qualified; kinds of CRDs take either. */
function finalizerCauses(kind: Pick<Kind, 'origin'>, finalizers: readonly string[]): Cause[] {
  return causesOf(finalizers, (finalizer) => {
    const problems = qualifiedNameProblems(finalizer).map((problem) =>
      invalidValue('metadata.finalizers', finalizer, problem),
    );
    if (problems.length > 0 || kind.origin !== 'core' || finalizer.includes('/') || BARE_FINALIZERS.has(finalizer))
      return problems;
    return [
      invalidValue(
        'metadata.finalizers',
        finalizer,
        'name is neither a standard finalizer name nor is it fully qualified',
      ),
    ];
  });
}

const BARE_FINALIZERS: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

/** Finalizers may only go once deletion began. */
export function addedFinalizerCauses(object: KubeObject, previous: KubeObject): Cause[] {
  if (previous.metadata.deletionTimestamp === undefined) return [];
  const before = new Set(previous.metadata.finalizers ?? []);
  const added = (object.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (added.length === 0) return [];
  const shown = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
  return [
    forbiddenField(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${shown}}`,
    ),
  ];
}

/**
 * What of the metadata that never changes a write would change. Times of creation are passed over, and so is an instant of deletion once
 * deletion began; what the write does not tell stays.
 */
export function changedFixedCauses(wanted: JsonObject, { metadata }: KubeObject): Cause[] {
  const { uid, deletionTimestamp, deletionGracePeriodSeconds } = wanted;
  const immutable = (field: string, shown: unknown): Cause => ({
    reason: 'FieldValueInvalid',
    field: `metadata.${field}`,
    message: `Invalid value: ${String(shown)}: field is immutable`,
  });
  const given = (value: unknown) => value !== undefined && value !== null && value !== '';
  const changed: Cause[] = [];
  if (given(uid) && uid !== metadata.uid) changed.push(immutable('uid', JSON.stringify(uid)));
  if (given(deletionTimestamp) && metadata.deletionTimestamp === undefined) {
    changed.push(immutable('deletionTimestamp', goInstant(String(deletionTimestamp))));
  }
  if (given(deletionGracePeriodSeconds) && deletionGracePeriodSeconds !== metadata.deletionGracePeriodSeconds) {
    changed.push(immutable('deletionGracePeriodSeconds', deletionGracePeriodSeconds));
  }
  return changed;
}

/** An RFC 3339 instant as Go prints it: `2030-01-01 00:00:00 +0000 UTC`. */
function goInstant(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return JSON.stringify(text);
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`;
}
