import { hostname } from 'node:os';

/** The machine's name as an RFC 1123 label. */
export function machineName(): string {
  const label = hostname()
    .toLowerCase()
    .replace(/\..*$/, '')
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return label === '' ? 'localhost' : label;
}
