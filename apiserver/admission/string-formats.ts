import { isDate } from './date-time.ts';

/** Formats of strings that are checked besides date-time; any other format is a note for readers, as in Kubernetes. */
export const STRING_FORMATS = [
  'byte',
  'date',
  'duration',
  'ipv4',
  'ipv6',
  'cidr',
  'mac',
  'uuid',
  'uri',
  'email',
  'hostname',
] as const;
export type StringFormat = (typeof STRING_FORMATS)[number];

/** Whether a text has a format. Every test is linear in the text. */
export function isFormat(format: StringFormat, text: string): boolean {
  switch (format) {
    case 'byte':
      return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
    case 'date':
      return isDate(text);
    case 'duration':
      return /^-?(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|d|w))+$/.test(text) || text === '0';
    case 'ipv4':
      return isIPv4(text);
    case 'ipv6':
      return isIPv6(text);
    case 'cidr':
      return isCIDR(text);
    case 'mac':
      return /^[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}$/.test(text);
    case 'uuid':
      return /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/.test(text);
    case 'uri':
      return URL.canParse(text);
    case 'email':
      return text.length <= 320 && /^[^\s@<>]+@[^\s@<>]+$/.test(text);
    case 'hostname':
      return (
        text.length <= 255 &&
        text.split('.').every((label) => /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(label))
      );
    default:
      throw new Error(`unhandled format ${format satisfies never}`);
  }
}

function isIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255);
}

function isIPv6(text: string): boolean {
  if (text.length > 45 || !text.includes(':')) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1);
  const mapped = last?.includes('.') === true;
  if (mapped && !isIPv4(last ?? '')) return false;
  const plain = mapped ? groups.slice(0, -1) : groups;
  if (!plain.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  const count = plain.length + (mapped ? 2 : 0);
  return halves.length === 2 ? count < 8 : count === 8;
}

function isCIDR(text: string): boolean {
  const slash = text.lastIndexOf('/');
  if (slash < 0 || !/^(?:0|[1-9][0-9]{0,2})$/.test(text.slice(slash + 1))) return false;
  const address = text.slice(0, slash);
  const bits = Number(text.slice(slash + 1));
  return (isIPv4(address) && bits <= 32) || (isIPv6(address) && bits <= 128);
}
