import type { Lease } from '../../resources/kinds/lease.ts';

const NAMES_SHOWN = 5;

/** The first names of some Leases, and how many more there are. */
export function namesOf(leases: readonly Lease[]): string {
  const names = leases.map(({ metadata }) => metadata.name).sort();
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `${names.slice(0, NAMES_SHOWN).join(', ')}${more}`;
}
