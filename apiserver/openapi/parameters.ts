import type { Parameter } from './document.ts';

const query = (name: string, type: Parameter['schema']['type'], description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema: { type },
});

const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  description,
  required: true,
  schema: { type: 'string' },
});

export const NAME = inPath('name', 'The name of the object.');
export const NAMESPACE = inPath('namespace', 'The namespace of the object.');
export const PRETTY = query('pretty', 'string', 'true: indent the answer.');

const dryRun = query('dryRun', 'string', 'All: check and answer as if, and store nothing.');
const fieldManager = query('fieldManager', 'string', 'Who makes this change, for the record of managed fields.');
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What becomes of unknown or repeated fields: Strict refuses them, Warn drops them with a warning, Ignore drops them.',
);
const resourceVersion = query('resourceVersion', 'string', 'Which state to read, or to watch from.');

/** Of create and replace. kubectl looks for fieldValidation here to know that the server checks manifests. */
export const WRITE: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];

export const PATCH: readonly Parameter[] = [
  ...WRITE,
  query('force', 'boolean', 'Server-side apply only: take over fields that others manage.'),
];

export const GET: readonly Parameter[] = [resourceVersion];

export const LIST: readonly Parameter[] = [
  query('labelSelector', 'string', 'Only objects whose labels match.'),
  query('fieldSelector', 'string', 'Only objects whose fields match; metadata.name and those the kind declares.'),
  query('limit', 'integer', 'At most this many; the answer then says how to go on.'),
  query('continue', 'string', 'Go on from where an earlier list ended.'),
  resourceVersion,
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('timeoutSeconds', 'integer', 'How long a watch lasts.'),
  query('watch', 'boolean', 'Send changes as they happen instead of a list.'),
  query('allowWatchBookmarks', 'boolean', 'Tell now and then how far the watch has come.'),
  query('sendInitialEvents', 'boolean', 'Start the watch with the objects there are.'),
];

export const DELETE: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'How many seconds the object may take to end.'),
  query('propagationPolicy', 'string', 'What happens to objects it owns: Background, Foreground or Orphan.'),
  query('orphanDependents', 'boolean', 'The older form of propagationPolicy Orphan.'),
];
