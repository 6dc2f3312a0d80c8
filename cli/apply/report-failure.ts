import type { ApiError } from '../../resources/meta/api-error.ts';
import { explain } from '../explain.ts';
import { type Io, warn } from '../io.ts';
import { objectName } from '../render/name.ts';
import type { Member } from './apply-set.ts';
import type { PlacedObject } from './placed.ts';

/** Tells why the server turned an object down, and where the object stands; one that is in no file by its name. */
export function reportFailure(io: Io, about: PlacedObject | Member, error: ApiError): void {
  const explained = explain(error);
  warn(io, `error: ${whereOf(about)}: ${explained?.message ?? error.message}`);
  for (const detail of explained?.details ?? []) warn(io, `  * ${detail}`);
  if (explained?.hint !== undefined) warn(io, `hint: ${explained.hint}`);
}

function whereOf(about: PlacedObject | Member): string {
  if (!('source' in about)) return `pruning ${objectName(about.resource, about.name)}`;
  const { file, document, line } = about.source;
  return `${file}, document ${document}, line ${line}`;
}
