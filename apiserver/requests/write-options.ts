import type { Cause } from '../../resources/meta/api-error.ts';
import type { FieldValidation } from '../admission/field-validation.ts';
import { goQuote } from '../admission/go-format.ts';
import { booleanOption, refusedOptions } from './options.ts';

/** What a create, update or patch is asked with. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** The field manager, where the request names one. */
  readonly manager: string | undefined;
  readonly directive: FieldValidation;
}

const MAX_MANAGER_BYTES = 128;
const DIRECTIVES = ['', 'Ignore', 'Strict', 'Warn'] as const;

/** The options of a create or an update. Throws one `Invalid` with all that is wrong with them. */
export function writeOptions(query: URLSearchParams, kind: 'CreateOptions' | 'UpdateOptions'): WriteOptions {
  return optionsOf(query, kind, []);
}

/** The options of a patch that is no apply: nothing can be forced. */
export function patchOptions(query: URLSearchParams): WriteOptions {
  const forced = query.has('force');
  const message = 'Forbidden: may not be specified for non-apply patch';
  return optionsOf(query, PATCH, forced ? [{ reason: 'FieldValueForbidden', field: 'force', message }] : []);
}

/** The options of an apply, which must say who applies. */
export function applyOptions(
  query: URLSearchParams,
): WriteOptions & { readonly manager: string; readonly force: boolean } {
  const nobody = (query.get('fieldManager') ?? '') === '';
  const message = 'Required value: is required for apply patch';
  const options = optionsOf(
    query,
    PATCH,
    nobody ? [{ reason: 'FieldValueRequired', field: 'fieldManager', message }] : [],
  );
  return { ...options, manager: options.manager ?? '', force: booleanOption(query, 'force') };
}

const PATCH = 'PatchOptions';

function optionsOf(query: URLSearchParams, kind: string, found: readonly Cause[]): WriteOptions {
  if (query.size === 0 && found.length === 0) return DEFAULTS;
  const manager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const directive = query.get('fieldValidation') ?? '';
  const causes = [...found, ...managerCauses(manager), ...dryRunCauses(dryRun), ...directiveCauses(directive)];
  if (causes.length > 0) throw refusedOptions(kind, causes);
  return {
    dryRun: dryRun.length > 0,
    manager: manager === '' ? undefined : manager,
    directive: DIRECTIVES.find((known) => known !== '' && known === directive) || 'Warn',
  };
}

const DEFAULTS: WriteOptions = { dryRun: false, manager: undefined, directive: 'Warn' };

function managerCauses(manager: string): Cause[] {
  const field = 'fieldManager';
  if (new TextEncoder().encode(manager).length > MAX_MANAGER_BYTES) {
    const message = `Too long: must have at most ${MAX_MANAGER_BYTES} bytes`;
    return [{ reason: 'FieldValueTooLong', field, message }];
  }
  if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(manager)) return [];
  const message = `Invalid value: ${goQuote(manager)}: should only contain printable characters`;
  return [{ reason: 'FieldValueInvalid', field, message }];
}

/** What is wrong with `dryRun`: every value given must be `All`. */
export function dryRunCauses(values: readonly string[]): Cause[] {
  if (values.every((value) => value === 'All')) return [];
  const shown = `[]string{${values.map(goQuote).join(', ')}}`;
  const message = `Unsupported value: ${shown}: supported values: "All"`;
  return [{ reason: 'FieldValueNotSupported', field: 'dryRun', message }];
}

function directiveCauses(directive: string): Cause[] {
  if (DIRECTIVES.some((known) => known === directive)) return [];
  const supported = DIRECTIVES.map(goQuote).join(', ');
  const message = `Unsupported value: ${goQuote(directive)}: supported values: ${supported}`;
  return [{ reason: 'FieldValueNotSupported', field: 'fieldValidation', message }];
}
