import { VOLUMES } from '../../resources/guards/refs.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { Volume } from '../../resources/kinds/volume.ts';

const DIGITS = 12;

/**
 * The id of a volume: the one it has, else twelve of the random digits of its uid, the first that no other volume has. So a duty that is killed before it could say
 * it comes to the same one.
 */
export function volumeIDOf(volume: Volume, world: WorldView): string {
  const { id } = volume.status ?? {};
  if (id !== undefined) return id;
  const { uid } = volume.metadata;
  const taken = new Set<string>();
  for (const other of world.list(VOLUMES)) if (other.metadata.uid !== uid) taken.add(other.status?.id ?? '');
  const digits = uid.toLowerCase().replace(/[^0-9a-f]/g, '');
  for (let at = 0; at + DIGITS <= digits.length; at++) {
    const candidate = `vol-${digits.slice(at, at + DIGITS)}`;
    if (!taken.has(candidate)) return candidate;
  }
  throw new Error(`every id that uid ${uid} comes to is taken`);
}
