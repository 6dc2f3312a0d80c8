import type { Static, TSchema } from 'typebox';
import type { Asker, Guard } from '../guards/guard.ts';
import type { WorldView } from '../guards/world.ts';
import type { Cause } from './api-error.ts';
import type { JsonObject, KubeObject } from './object.ts';
import { plainSchema, type Schema } from './schema.ts';

/** A column of the table kubectl prints. Name comes first and Age last by themselves. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  /** 0 shows always, above it with `-o wide`. */
  readonly priority?: number;
  /** Where the value stands: `.status.phase`, `.status.conditions[?(@.type=="Ready")].status`. */
  readonly jsonPath: string;
  /** What is shown, where no path says it: an instant for a date. Only of kinds that no CRD is made of. */
  readonly value?: (object: KubeObject) => string | number | undefined;
}

/** What may be done with the objects of a kind. */
export const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const;
export type Verb = (typeof VERBS)[number];

/** What a request needs to address a resource. */
export interface ResourceRef {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface ScaleMapping {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** Of kinds that say how many there are to be, how many there are, and what selects them, as Kubernetes' own do. */
export const SCALED_BY_REPLICAS: ScaleMapping = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

/** A raw sub-path of an object that is a stream, such as `exec`. */
interface StreamSubresource {
  readonly name: string;
  readonly description: string;
}

/** What is sent to a question, and comes back with its answer. */
export interface RequestKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly origin: 'core' | 'coppice' | 'user';
  /** Everything but apiVersion, kind and metadata. */
  readonly schema: Schema;
}

/** A subresource that is a question: a POST is answered, and nothing is kept, such as a ServiceAccount's `token`. */
export interface ActionSubresource {
  readonly name: string;
  readonly description: string;
  readonly request: RequestKind;
}

/**
 * A kind: one value that is the type, the validation, the defaults, the columns, the docs and the CRD manifest. Built-in kinds and users' own take the same road.
 * `T` is the type of its objects.
 */
export interface Kind<T extends KubeObject = KubeObject> extends ResourceRef {
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Everything but apiVersion, kind and metadata. */
  readonly schema: Schema;
  readonly status: boolean;
  /** Whether objects are kept; else the kind is a question, which a create answers. */
  readonly stored: boolean;
  /** What is served of these; another method is 405. */
  readonly verbs: readonly Verb[];
  /** Whether `metadata.generation` counts changes; most of Kubernetes' own kinds have none. */
  readonly generations: boolean;
  /** Subresources that are updates of one part, such as a Namespace's `finalize`: name → path. */
  readonly parts: Readonly<Record<string, readonly string[]>>;
  /** Subresources that write fields of the spec and the status at once, by PATCH: name → the paths it writes. A VM's `binding`, as a Pod's, says where it is and that it is there. */
  readonly joint: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly scale?: ScaleMapping;
  readonly streams: readonly StreamSubresource[];
  readonly actions: readonly ActionSubresource[];
  readonly columns: readonly Column[];
  /** Whether a column with the age stands last; a user's kind says it in its own columns. */
  readonly ageColumn: boolean;
  /** Whether the name stands first; a kind that says no has it in its own columns. */
  readonly nameColumn: boolean;
  /** Field selectors besides metadata.name and metadata.namespace: label → path. */
  readonly selectableFields: readonly string[];
  /** Where a selectable field stands that is not at the path of its name: the first of these that is not empty. */
  readonly selectablePaths: Readonly<Record<string, readonly string[]>>;
  /** `core`: a Kubernetes built-in (strategic merge, unknown kind and apiVersion filled in); `coppice`: ours; `user`: a CRD's. */
  readonly origin: 'core' | 'coppice' | 'user';
  /**
   * Objects are read as Kubernetes reads them into a Go struct: a value of a wrong type is a bad request, and what is empty is left out,
   * but for fields with a default and those that may be null (pointers, whose zero value means something).
   */
  readonly struct: boolean;
  /** How names must look. */
  readonly nameRule: 'subdomain' | 'label' | 'segment';
  /** What of metadata the schema restricts further: `name` and `generateName` only. */
  readonly metadata?: Schema;
  /** Whose objects these are, shown otherwise. */
  readonly view?: KindView;
  /** What every client of this version is warned of, where it is deprecated. */
  readonly deprecation?: string;
  /** The version objects are kept in, where it is not this one. */
  readonly storage?: StorageVersion;
  /** Whether the store holds its objects encrypted. */
  readonly sealed: boolean;
  /** Objects of this kind are forgotten this long after their last write, in milliseconds. */
  readonly expiresAfterMs?: number;
  /** Steps this kind adds to a write. */
  readonly rules: KindRules<T>;
}

/** Another version of a kind, in which its objects are kept. */
interface StorageVersion {
  readonly version: string;
  readonly schema: Schema;
}

/** A kind that shows the objects of another. */
interface KindView {
  readonly of: ResourceRef;
  /** An object as this kind shows it. */
  show(object: KubeObject): KubeObject;
  /** The same back as it is kept. */
  keep(object: KubeObject): KubeObject;
}

/** The resource under which the objects of a kind are kept. */
export function storedIn<T extends KubeObject>(kind: Kind<T>): ResourceRef {
  return kind.view?.of ?? kind;
}

/** What a kind declares beyond its schema. All pure. */
export interface KindRules<T extends KubeObject> {
  /** Fills in what admission decides, on create and update. Returns a new object. */
  admit?(draft: T, previous: T | undefined, context: AdmissionContext): T;
  /** Drops unknown fields that the schema cannot tell, from what a client sent. */
  prune?(object: JsonObject): { readonly object: JsonObject; readonly unknown: readonly string[] };
  /** What is wrong with an object that its schema finds right. */
  causes?(object: T, previous: T | undefined): readonly Cause[];
  readonly guards?: readonly Guard<T>[];
  /** Other objects written in the same transaction, each compared on the revision the world showed. */
  companions?(after: T | undefined, before: T | undefined, context: AdmissionContext): readonly CompanionWrite[];
  /** What whoever deleted an object should know of what stays; sent as warnings. */
  stays?(object: T, context: Omit<AdmissionContext, 'asker'>): readonly string[];
  /** Something of the object's own, besides finalizers, keeps it from going. */
  holdsDeletion?(object: T): boolean;
}

/** What an admission step may look at. */
export interface AdmissionContext {
  readonly world: WorldView;
  readonly nowMs: number;
  readonly asker: Asker;
}

/** One object written along with another. `object` undefined deletes. */
export interface CompanionWrite {
  readonly resource: ResourceRef;
  readonly namespace?: string;
  readonly name: string;
  readonly object: KubeObject | undefined;
}

interface KindDeclaration<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  readonly schema: Schema;
  readonly status?: boolean;
  readonly stored?: boolean;
  readonly verbs?: readonly Verb[];
  readonly generations?: boolean;
  readonly parts?: Readonly<Record<string, readonly string[]>>;
  readonly scale?: ScaleMapping;
  readonly streams?: readonly StreamSubresource[];
  readonly actions?: readonly ActionSubresource[];
  readonly columns?: readonly Column[];
  readonly ageColumn?: boolean;
  readonly nameColumn?: boolean;
  readonly selectableFields?: readonly string[];
  readonly selectablePaths?: Readonly<Record<string, readonly string[]>>;
  readonly origin: Kind['origin'];
  readonly struct?: boolean;
  readonly nameRule?: Kind['nameRule'];
  readonly metadata?: Schema;
  readonly deprecation?: string;
  readonly storage?: StorageVersion;
  readonly view?: KindView;
  readonly sealed?: boolean;
  readonly expiresAfterMs?: number;
  readonly rules?: KindRules<T>;
}

/** Fills in what a declaration leaves to convention, and freezes the result. */
export function defineKind<T extends KubeObject>(declared: KindDeclaration<T>): Kind<T> {
  return Object.freeze({
    singular: declared.kind.toLowerCase(),
    listKind: `${declared.kind}List`,
    shortNames: [],
    categories: [],
    status: false,
    stored: true,
    verbs: VERBS,
    generations: true,
    parts: {},
    joint: {},
    streams: [],
    actions: [],
    columns: [],
    ageColumn: declared.origin !== 'user',
    nameColumn: true,
    struct: false,
    sealed: false,
    selectableFields: [],
    selectablePaths: {},
    nameRule: 'subdomain' as const,
    rules: {},
    ...declared,
  });
}

/** The object type of a spec and a status schema. */
export type ObjectOf<Spec extends TSchema, Status extends TSchema> = KubeObject & {
  spec: Static<Spec>;
  status?: Static<Status>;
};

/** One of our own kinds: group coppice.dev/v1, spec and status, status subresource. */
export function defineCoppiceKind<Spec extends TSchema, Status extends TSchema>(declared: {
  readonly kind: string;
  readonly plural: string;
  readonly description: string;
  readonly shortNames: readonly string[];
  /** Besides `coppice`. */
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  readonly spec: Spec;
  readonly status: Status;
  readonly columns: readonly Column[];
  readonly joint?: Kind['joint'];
  readonly streams?: readonly StreamSubresource[];
  readonly actions?: readonly ActionSubresource[];
  readonly selectableFields?: readonly string[];
  readonly scale?: ScaleMapping;
  readonly nameRule?: Kind['nameRule'];
  readonly rules?: KindRules<ObjectOf<Spec, Status>>;
}): Kind<ObjectOf<Spec, Status>> {
  const { description, spec, status, categories = [], ...rest } = declared;
  return defineKind<ObjectOf<Spec, Status>>({
    ...rest,
    group: COPPICE_GROUP,
    version: 'v1',
    categories: ['coppice', ...categories],
    status: true,
    origin: 'coppice',
    schema: {
      type: 'object',
      description,
      properties: {
        spec: { default: {}, ...plainSchema(spec) },
        status: plainSchema(status),
      },
    },
  });
}

export const COPPICE_GROUP = 'coppice.dev';
