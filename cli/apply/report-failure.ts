import type { ApiError } from '../../resources/meta/api-error.ts';
import { explain } from '../explain.ts';
import { type Io, warn } from '../io.ts';
import type { PlacedObject } from './placed.ts';

/** Tells why the server turned an object down, and where the object stands. */
export function reportFailure(io: Io, placed: PlacedObject, error: ApiError): void {
  const explained = explain(error);
  const { file, document, line } = placed.source;
  warn(io, `error: ${file}, document ${document}, line ${line}: ${explained?.message ?? error.message}`);
  for (const detail of explained?.details ?? []) warn(io, `  * ${detail}`);
  if (explained?.hint !== undefined) warn(io, `hint: ${explained.hint}`);
}
