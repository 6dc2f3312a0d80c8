import type { OpenSchema } from './document.ts';
import { META_PREFIX, refTo, SCALE_SCHEMA } from './schema-name.ts';

const named = (name: string): string => `${META_PREFIX}.${name}`;
const described = (name: string, description: string): OpenSchema => ({ description, allOf: [refTo(named(name))] });

const text = (description: string): OpenSchema => ({ type: 'string', description });
const flag = (description: string): OpenSchema => ({ type: 'boolean', description });
const int = (format: 'int32' | 'int64', description: string): OpenSchema => ({ type: 'integer', format, description });
const texts = (description: string): OpenSchema => ({ type: 'array', items: { type: 'string' }, description });
const textMap = (description: string): OpenSchema => ({
  type: 'object',
  additionalProperties: { type: 'string' },
  description,
});
const listOf = (name: string, description: string, more: Partial<OpenSchema> = {}): OpenSchema => ({
  type: 'array',
  items: refTo(named(name)),
  description,
  ...more,
});
const object = (description: string, properties: Record<string, OpenSchema>, required: string[] = []): OpenSchema => ({
  type: 'object',
  description,
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const apiVersion = text('The group and version of this form of the object, such as apps/v1.');
const kind = text('The kind of object this is, in CamelCase.');

const objectMeta = object('What every stored object carries besides its own fields.', {
  name: text('The name, unique among the objects of this kind in the namespace. It cannot be changed.'),
  generateName: text('Used when no name is given: the server appends a random suffix to it.'),
  namespace: text('The namespace the object is in. Empty for kinds that belong to the whole cluster.'),
  uid: text('The identity of this object, given by the server. A later object of the same name has another.'),
  resourceVersion: text('Changes with every write. Opaque: send it back to have a write refused after another one.'),
  generation: int('int64', 'Counts changes of what is wanted; the server keeps it.'),
  creationTimestamp: described('Time', 'When the object was created; the server sets it.'),
  deletionTimestamp: described('Time', 'When deletion was asked for; the object goes once no finalizer is left.'),
  deletionGracePeriodSeconds: int('int64', 'How many seconds the object was given to end in peace.'),
  labels: textMap('Short key and value pairs to select objects by.'),
  annotations: textMap('Key and value pairs for tools; nothing selects by them.'),
  finalizers: {
    ...texts('Each must be removed by its owner before the object goes.'),
    'x-kubernetes-list-type': 'set',
    'x-kubernetes-patch-strategy': 'merge',
  },
  ownerReferences: listOf('OwnerReference', 'Objects this one belongs to. When all of them are gone, so is this.', {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['uid'],
    'x-kubernetes-patch-merge-key': 'uid',
    'x-kubernetes-patch-strategy': 'merge',
  }),
  managedFields: listOf('ManagedFieldsEntry', 'Who set which fields; kept by the server for server-side apply.', {
    'x-kubernetes-list-type': 'atomic',
  }),
});

const ownerReference: OpenSchema = {
  ...object(
    'Names an object that owns another, in the same namespace or in none.',
    {
      apiVersion: text('The group and version of the owner.'),
      kind: text('The kind of the owner.'),
      name: text('The name of the owner.'),
      uid: text('The uid of the owner.'),
      controller: flag('Whether it is the one that manages the object.'),
      blockOwnerDeletion: flag('Whether a foreground deletion of the owner waits for this object.'),
    },
    ['apiVersion', 'kind', 'name', 'uid'],
  ),
  'x-kubernetes-map-type': 'atomic',
};

const managedFieldsEntry = object('The fields one manager set by one operation.', {
  manager: text('Who set them.'),
  operation: text('Apply or Update.'),
  apiVersion: text('The version the fields are named in.'),
  time: described('Time', 'When this entry last changed.'),
  fieldsType: text('The form of fieldsV1; always FieldsV1.'),
  fieldsV1: described('FieldsV1', 'The fields themselves.'),
  subresource: text('The subresource they were set through; empty for the object itself.'),
});

const listMeta = object('What every list carries.', {
  resourceVersion: text('The state of the server the list shows; a watch may start from it.'),
  continue: text('Set when there is more: ask again with it.'),
  remainingItemCount: int('int64', 'About how many items are left after this page.'),
});

const statusDetails = object('What a Status says for programs.', {
  name: text('The object it is about.'),
  group: text('Its group.'),
  kind: text('Its resource, or its kind for a failed validation.'),
  uid: text('Its uid.'),
  causes: listOf('StatusCause', 'Why, one entry a field or rule.', { 'x-kubernetes-list-type': 'atomic' }),
  retryAfterSeconds: int('int32', 'How many seconds to wait before trying again.'),
});

const status: OpenSchema = {
  ...object('The answer to a request that returns no object.', {
    apiVersion,
    kind,
    metadata: described('ListMeta', 'As of a list.'),
    status: text('Success or Failure.'),
    message: text('What happened, for people.'),
    reason: text('What happened, in one word from a closed list.'),
    details: described('StatusDetails', 'What happened, for programs.'),
    code: int('int32', 'The HTTP status.'),
  }),
  'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Status' }],
};

const deleteOptions: OpenSchema = {
  ...object('How an object is to be deleted.', {
    apiVersion,
    kind,
    gracePeriodSeconds: int('int64', 'How many seconds it may take to end; 0 means at once.'),
    preconditions: described('Preconditions', 'Delete only if these hold.'),
    propagationPolicy: text('What happens to objects it owns: Background, Foreground or Orphan.'),
    orphanDependents: flag('The older form of propagationPolicy Orphan.'),
    dryRun: { ...texts('All: answer as if, and change nothing.'), 'x-kubernetes-list-type': 'atomic' },
  }),
  'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'DeleteOptions' }],
};

const apiResource = object(
  'A resource of a group and version, as discovery lists it.',
  {
    name: text('Its plural name; a subresource after a slash.'),
    singularName: text('Its singular name; empty for a subresource.'),
    namespaced: flag('Whether its objects are in namespaces.'),
    group: text('Its group, where it is not that of the list.'),
    version: text('Its version, where it is not that of the list.'),
    kind: text('The kind of its objects.'),
    verbs: texts('What may be done with it.'),
    shortNames: texts('Short names for it.'),
    categories: texts('Groups of resources it belongs to, such as all.'),
  },
  ['name', 'singularName', 'namespaced', 'kind', 'verbs'],
);

const apiResourceList: OpenSchema = {
  ...object(
    'The resources of one group and version.',
    {
      apiVersion,
      kind,
      groupVersion: text('The group and version.'),
      resources: listOf('APIResource', 'The resources.'),
    },
    ['groupVersion', 'resources'],
  ),
  'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'APIResourceList' }],
};

/** The schemas every document shares, by full name. */
export const META_SCHEMAS: Readonly<Record<string, OpenSchema>> = Object.fromEntries(
  Object.entries({
    APIResource: apiResource,
    APIResourceList: apiResourceList,
    DeleteOptions: deleteOptions,
    FieldsV1: {
      type: 'object',
      description: 'A set of fields as nested objects: f: for a field, k: and v: for items.',
    },
    ListMeta: listMeta,
    ManagedFieldsEntry: managedFieldsEntry,
    ObjectMeta: objectMeta,
    OwnerReference: ownerReference,
    Patch: { type: 'object', description: 'A change to an object, in the form its content type says.' },
    Preconditions: object('What must hold for a deletion.', {
      uid: text('The uid the object must have.'),
      resourceVersion: text('The version the object must have.'),
    }),
    Status: status,
    StatusCause: object('One reason of a failure.', {
      reason: text('The reason in one word.'),
      message: text('The reason for people.'),
      field: text('The field that is wrong, if one is.'),
    }),
    StatusDetails: statusDetails,
    Time: { type: 'string', format: 'date-time', description: 'An instant: RFC 3339 in UTC, whole seconds.' },
  } satisfies Record<string, OpenSchema>).map(([name, schema]) => [named(name), schema]),
);

/** autoscaling/v1 Scale, for documents with a kind that can be scaled. */
export const SCALE: Readonly<Record<string, OpenSchema>> = {
  [SCALE_SCHEMA]: {
    ...object('How many there should be of something, and how many there are.', {
      apiVersion,
      kind,
      metadata: described('ObjectMeta', 'That of the scaled object.'),
      spec: object('What is wanted.', { replicas: int('int32', 'How many there should be.') }),
      status: object(
        'What is.',
        { replicas: int('int32', 'How many there are.'), selector: text('Which ones, as a label selector.') },
        ['replicas'],
      ),
    }),
    'x-kubernetes-group-version-kind': [{ group: 'autoscaling', version: 'v1', kind: 'Scale' }],
  },
};

/** The two fields every object starts with. */
export const TYPE_FIELDS: Readonly<Record<string, OpenSchema>> = { apiVersion, kind };
