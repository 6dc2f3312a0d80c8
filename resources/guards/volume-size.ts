import type { Volume } from '../kinds/volume.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { type Guard, NO_FENCES } from './guard.ts';

const GIBIBYTE = 1024 ** 3;
const LEAST_GIB = 1;
const MOST_GIB = 2048;

/** A volume is of 1 to 2048 gibibytes, however that is written. */
export const volumeSize: Guard<Volume> = {
  name: 'volume-size',
  fences: () => NO_FENCES,
  judge({ before, after }) {
    if (after === undefined || after.spec.size === before?.spec.size) return undefined;
    const bytes = parseBytes(after.spec.size);
    if (bytes !== undefined && bytes >= LEAST_GIB * GIBIBYTE && bytes <= MOST_GIB * GIBIBYTE) return undefined;
    const comes = bytes === undefined || bytes < 1024 ? '' : `, and this is ${roughBytes(bytes)}`;
    const message = `Invalid value: "${after.spec.size}": a volume has from ${LEAST_GIB}Gi to ${MOST_GIB}Gi${comes}`;
    return { answer: 'Invalid', field: 'spec.size', cause: 'FieldValueInvalid', message };
  },
};
