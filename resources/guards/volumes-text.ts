import type { Volume } from '../kinds/volume.ts';
import { firstOf } from '../meta/first-of.ts';

const NAMES_SHOWN = 10;

/** `volume acme/pg-data lies`, `volumes acme/a, acme/b lie`. */
export function volumesText(volumes: readonly Volume[]): string {
  const names = volumes.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
  return names.length === 1
    ? `volume ${names[0]} lies`
    : `${names.length} volumes (${firstOf(names, NAMES_SHOWN)}) lie`;
}
