import { ApiError, type Cause } from '../../resources/meta/api-error.ts';
import { type FieldSet, pathsOf } from './field-set.ts';
import type { ManagerId } from './managed-fields.ts';
import { showPath } from './path-element.ts';

/** Fields of an applied configuration that another manager owns with another value. */
export interface Conflict {
  readonly owner: ManagerId;
  readonly fields: FieldSet;
}

/** 409 that names every field and who owns it, in the words kubectl and GitOps tools know. Conflicts come in the order of their managers' keys. */
export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const told = conflicts.map(({ owner, fields }) => ({
    owner: showOwner(owner),
    paths: [...pathsOf(fields)].map(showPath),
  }));
  const causes: Cause[] = told.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${owner}`, field })),
  );
  return new ApiError('Conflict', messageOf(told, causes), { details: { causes } });
}

function messageOf(
  told: readonly { readonly owner: string; readonly paths: readonly string[] }[],
  causes: readonly Cause[],
): string {
  const [only] = causes;
  if (causes.length === 1 && only !== undefined)
    return `Apply failed with 1 conflict: ${only.message}: ${only.field ?? ''}`;
  const lines = told.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  return `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`;
}

/** Not the time of the change: kube-apiserver as recorded (1.26) tells only who and with which version. */
function showOwner({ manager, operation, apiVersion, subresource }: ManagerId): string {
  const part = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  const version = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${JSON.stringify(manager)}${part}${version}`;
}
