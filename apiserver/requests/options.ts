import { ApiError, type Cause, invalid } from '../../resources/meta/api-error.ts';

/** 422 about the options of a request, as the real server words it: `ListOptions.meta.k8s.io "" is invalid: …`. */
export function refusedOptions(kind: string, causes: readonly Cause[]): ApiError {
  return invalid({ group: 'meta.k8s.io', kind }, '', causes);
}

/** A Go boolean (strconv.ParseBool). Anything else is false, as the real server's conversion has it: only `0` and `false` are. */
export function booleanOption(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null) return false;
  return !['0', 'f', 'F', 'false', 'False', 'FALSE'].includes(text);
}

/** A whole number, or undefined when absent. */
export function integerOption(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?[0-9]{1,18}$/.test(text)) {
    throw new ApiError('BadRequest', `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

/** A resourceVersion as a number: undefined when absent or empty. The refusal has the words, and no reason, as Kubernetes has it. */
export function resourceVersionOption(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^[0-9]{1,16}$/.test(text)) {
    const shown = JSON.stringify(text);
    const message = `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`;
    throw new ApiError('BadRequest', message, { reasonless: true });
  }
  return Number(text);
}
