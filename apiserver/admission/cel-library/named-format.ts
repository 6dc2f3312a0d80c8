import { type Environment, Optional } from '@marcbachmann/cel-js';
import {
  labelProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from '../../../resources/meta/names.ts';
import { isFormat } from '../string-formats.ts';
import { type Charge, chargeText } from './charge.ts';
import { parseUrl } from './url-parts.ts';

class FormatNamespace {}

/** A format that strings can be held against. */
class NamedFormat {
  readonly name: string;
  /** What is wrong with a text; nothing when it has the format. */
  readonly problems: (text: string) => readonly string[];

  constructor(name: string, problems: (text: string) => readonly string[]) {
    this.name = name;
    this.problems = problems;
  }
}

const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const FORM_1035 = `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`;

function label1035Problems(text: string): string[] {
  const problems = text.length > 63 ? ['must be no more than 63 characters'] : [];
  if (!LABEL_1035.test(text)) problems.push(FORM_1035);
  return problems;
}

/** A prefix of names may end in the one character that a name may not. */
const prefix = (problems: (text: string) => readonly string[]) => (text: string) =>
  problems(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const DATE_TIME = /^([0-9-]{10})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$/;

function isDateTime(text: string): boolean {
  const [, date = '', hour, minute, second] = DATE_TIME.exec(text) ?? [];
  return isFormat('date', date) && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 61;
}

const unless = (has: (text: string) => boolean, problem: string) => (text: string) => (has(text) ? [] : [problem]);

const FORMATS: Readonly<Record<string, (text: string) => readonly string[]>> = {
  dns1123Label: labelProblems,
  dns1123Subdomain: subdomainProblems,
  dns1035Label: label1035Problems,
  qualifiedName: qualifiedNameProblems,
  dns1123LabelPrefix: prefix(labelProblems),
  dns1123SubdomainPrefix: prefix(subdomainProblems),
  dns1035LabelPrefix: prefix(label1035Problems),
  labelValue: labelValueProblems,
  uri: unless((text) => parseUrl(text) !== undefined, 'invalid URI for request'),
  uuid: unless((text) => isFormat('uuid', text), 'does not match the UUID format'),
  byte: unless((text) => isFormat('byte', text), 'invalid base64'),
  date: unless((text) => isFormat('date', text), 'invalid date'),
  datetime: unless(isDateTime, 'invalid datetime'),
};
const KNOWN: ReadonlyMap<string, NamedFormat> = new Map(
  Object.entries(FORMATS).map(([name, problems]) => [name, new NamedFormat(name, problems)]),
);

/** `format.NAME()`, `format.named` and `validate` (k8s.io/apiserver/pkg/cel/library). */
export function registerNamedFormat(environment: Environment, charge: Charge): void {
  const F = 'kubernetes.NamedFormat';
  environment
    .registerType(F, NamedFormat)
    .registerType('FormatNamespace', FormatNamespace)
    .registerConstant('format', 'FormatNamespace', new FormatNamespace())
    .registerOperator(`${F} == ${F}`, (a: NamedFormat, b: NamedFormat) => a.name === b.name)
    .registerFunction(`FormatNamespace.named(string): optional<${F}>`, (_: FormatNamespace, name: string) =>
      Optional.of(KNOWN.get(name)),
    )
    .registerFunction(`${F}.validate(string): optional<list<string>>`, (format: NamedFormat, text: string) => {
      chargeText(charge, text);
      const problems = format.problems(text);
      return problems.length === 0 ? Optional.none() : Optional.of([...problems]);
    });
  for (const [name, format] of KNOWN) environment.registerFunction(`FormatNamespace.${name}(): ${F}`, () => format);
}
