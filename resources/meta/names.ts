/*
 * The rules for names, labels and qualified names (kubernetes.io, "Object Names and IDs", "Labels and Selectors"), each
 * answering what is wrong in the words users of Kubernetes know, or undefined.
 */

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const LABEL_SYNTAX = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const PART_SYNTAX = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const SUBDOMAIN_FORM = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${LABEL_SYNTAX}(\\.${LABEL_SYNTAX})*')`;
const LABEL_FORM = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL_SYNTAX}')`;
const PART_RULE = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${PART_SYNTAX}')`;
const VALUE_FORM = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${PART_SYNTAX})?')`;

const tooLong = (limit: number) => `must be no more than ${limit} characters`;

/** A DNS subdomain of at most 253 characters: what most objects are named by. */
export function subdomainProblems(name: string): string[] {
  const problems = name.length > 253 ? [tooLong(253)] : [];
  if (!name.split('.').every((label) => LABEL.test(label))) problems.push(SUBDOMAIN_FORM);
  return problems;
}

/** A DNS label of at most 63 characters. */
export function labelProblems(name: string): string[] {
  const problems = name.length > 63 ? [tooLong(63)] : [];
  if (!LABEL.test(name)) problems.push(LABEL_FORM);
  return problems;
}

/** What can stand in a path: the least that any name must be. */
export function segmentProblems(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%']
    .filter((character) => name.includes(character))
    .map((character) => `may not contain '${character}'`);
}

/** A key of labels, annotations and finalizers: `name`, or `dns.prefix/name`. */
export function qualifiedNameProblems(key: string): string[] {
  const parts = key.split('/');
  if (parts.length > 2) {
    return [`a qualified name ${PART_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const problems: string[] = [];
  const prefix = parts.length === 2 ? (parts[0] ?? '') : undefined;
  const name = parts.at(-1) ?? '';
  if (prefix === '') problems.push('prefix part must be non-empty');
  else if (prefix !== undefined) problems.push(...subdomainProblems(prefix).map((problem) => `prefix part ${problem}`));
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push(`name part ${tooLong(63)}`);
  if (!QUALIFIED_PART.test(name)) problems.push(`name part ${PART_RULE}`);
  return problems;
}

/** The value of a label. */
export function labelValueProblems(value: string): string[] {
  const problems = value.length > 63 ? [tooLong(63)] : [];
  if (value !== '' && !QUALIFIED_PART.test(value)) problems.push(VALUE_FORM);
  return problems;
}
