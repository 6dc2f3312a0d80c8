import type { Column, Kind } from './define-kind.ts';

const AGE: Column = {
  name: 'Age',
  type: 'date',
  description: 'How long ago it was created.',
  jsonPath: '.metadata.creationTimestamp',
};

/** The same of Kubernetes' own kinds. */
const STRUCT_AGE: Column = { ...AGE, description: 'How long ago the server made it: its creationTimestamp as an age.' };

/** The columns of a kind after Name: Age stands last, but where a user's kind states its own columns it has exactly those. */
export function printerColumns(kind: Pick<Kind, 'ageColumn' | 'columns' | 'struct'>): readonly Column[] {
  if (kind.ageColumn) return [...kind.columns, kind.struct ? STRUCT_AGE : AGE];
  return kind.columns.length === 0 ? [AGE] : kind.columns;
}
