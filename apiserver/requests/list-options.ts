import type { Cause } from '../../resources/meta/api-error.ts';
import { refusedOptions } from './options.ts';

const MATCH = 'resourceVersionMatch';

/** The rules on the options of a list or watch together: every breach is told in one 422. */
export function checkListOptions(query: URLSearchParams, isWatch: boolean): void {
  const causes = isWatch ? watchCauses(query) : listCauses(query);
  if (causes.length > 0) throw refusedOptions('ListOptions', causes);
}

const forbidden = (field: string, why: string): Cause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
  field,
});

const notSupported = (value: string, supported: string): Cause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
  field: MATCH,
});

function listCauses(query: URLSearchParams): readonly Cause[] {
  const match = query.get(MATCH) ?? '';
  const version = query.get('resourceVersion') ?? '';
  const causes: Cause[] = [];
  if (match !== '') {
    if (version === '') causes.push(forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`));
    if (query.get('continue')) causes.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`));
    if (match !== 'Exact' && match !== 'NotOlderThan') causes.push(notSupported(match, '"Exact", "NotOlderThan", ""'));
    if (match === 'Exact' && version === '0')
      causes.push(forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`));
  }
  if (query.has('sendInitialEvents'))
    causes.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  return causes;
}

function watchCauses(query: URLSearchParams): readonly Cause[] {
  const match = query.get(MATCH) ?? '';
  const initial = query.has('sendInitialEvents');
  const causes: Cause[] = [];
  if (initial && match !== 'NotOlderThan')
    causes.push(forbidden(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`));
  if (match !== '' && !initial)
    causes.push(forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`));
  if (match !== '' && initial && match !== 'NotOlderThan') causes.push(notSupported(match, '"NotOlderThan"'));
  if (match !== '' && query.get('continue'))
    causes.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`));
  return causes;
}
