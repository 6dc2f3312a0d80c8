import type { ScaleMapping } from '../../resources/meta/define-kind.ts';
import { humanDuration } from '../../resources/meta/duration.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { formOf, metaVersionOf } from '../requests/media-type.ts';
import { json } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import type { ColumnDefinition } from '../table/columns.ts';
import { partialMetadata } from '../table/partial-metadata.ts';
import { type Scale, scaleOf } from '../table/scale.ts';
import { includeObjectOption } from './represent.ts';
import type { VerbContext } from './verb-context.ts';

const column = (name: string, type: string, description: string, format = ''): ColumnDefinition => ({
  name,
  type,
  format,
  description,
  priority: 0,
});

const COLUMNS: readonly ColumnDefinition[] = [
  column('Name', 'string', 'The name of the object that is scaled.', 'name'),
  column('Desired', 'integer', 'How many replicas are wanted of it.'),
  column('Available', 'integer', 'How many replicas there are of it.'),
  column('Age', 'string', 'How long ago the object was created.'),
];

/** The scale of an object, as asked for. */
export function oneScale(
  status: number,
  { parts, request, representation }: VerbContext,
  object: KubeObject,
  mapping: ScaleMapping,
): ServerResponse {
  const scale = scaleOf(object, mapping);
  const metaVersion = metaVersionOf(representation);
  const form = formOf(representation);
  if (form === 'Object') return json(status, scale);
  if (form === 'PartialObjectMetadata') return json(status, partialMetadata(scale, metaVersion));
  const include = includeObjectOption(request.query);
  const row = { Metadata: partialMetadata(scale, metaVersion), Object: scale, None: null }[include];
  return json(status, {
    kind: 'Table',
    apiVersion: metaVersion,
    metadata: { resourceVersion: scale.metadata.resourceVersion },
    columnDefinitions: COLUMNS,
    rows: [{ cells: cellsOf(scale, parts.clock.now()), object: row }],
  });
}

function cellsOf({ metadata, spec, status }: Scale, nowMs: number): readonly (string | number)[] {
  const age = humanDuration(nowMs - Date.parse(metadata.creationTimestamp));
  return [metadata.name, spec.replicas, status.replicas, age];
}
