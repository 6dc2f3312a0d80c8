import assert from 'node:assert/strict';
import { volumeIDOf } from '../../../controllers/volume/volume-id.ts';
import { VOLUMES } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { aVolume } from '../../builders/volume.ts';

const UID = '82404a1f-5a7c-4b1d-9c3e-0123456789ab';

function withUID(uid: string, name: string, id?: string): Volume {
  const volume = aVolume({ name, ...(id === undefined ? {} : { status: { id } }) });
  return { ...volume, metadata: { ...volume.metadata, uid } };
}

function idBeside(volume: Volume, ...others: readonly Volume[]): string {
  const world = new World();
  for (const each of [volume, ...others]) world.set(VOLUMES, objectKey(each.metadata), each, 1);
  return volumeIDOf(volume, world);
}

describe('the id of a volume', () => {
  it('is of its uid, so that who is killed before saying it comes to the same one', () => {
    assert.equal(idBeside(withUID(UID, 'a')), 'vol-82404a1f5a7c');
    assert.equal(idBeside(withUID(UID, 'a', 'vol-ffffffffffff')), 'vol-ffffffffffff', 'once given it stays');
  });

  it('is another where somebody has it', () => {
    const other = withUID('82404a1f-5a7c-4000-8000-000000000000', 'b', 'vol-82404a1f5a7c');
    assert.equal(idBeside(withUID(UID, 'a'), other), 'vol-2404a1f5a7c4');
  });
});
