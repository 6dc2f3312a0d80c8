import assert from 'node:assert/strict';
import { Host } from '../../../resources/kinds/host.ts';
import { Image } from '../../../resources/kinds/image.ts';
import { isTrue } from '../../../resources/meta/condition.ts';
import { Fleet } from '../../harness/fleet.ts';

describe('the image duty', () => {
  it('follows what hosts report, and restamps when the spec changes', async () => {
    await using fleet = await Fleet.start();
    const image = () => fleet.find<Image>(Image, 'tiny');
    await fleet.addImage({ status: {} });
    fleet.startControllers('image');
    await fleet.eventually('not found', () => image()?.status?.conditions?.[0]?.reason === 'NotFound');
    await fleet.addHost({ name: 'b' });
    await fleet.addHost({ name: 'a' });
    await fleet.eventually('found', () => image()?.status?.holders?.length === 2);
    assert.deepEqual(image()?.status?.holders, ['a', 'b']);
    assert.equal(isTrue(image() ?? assert.fail(), 'Ready'), true);

    await fleet.resource<Host>(Host).delete('b');
    await fleet.eventually('one less', () => image()?.status?.holders?.length === 1);
    await fleet.resource<Image>(Image).patch('tiny', { spec: { displayName: 'Tiny' } });
    const current = () => image()?.metadata.generation;
    await fleet.eventually('restamped', () => image()?.status?.conditions?.[0]?.observedGeneration === current());
    assert.equal(image()?.status?.observedGeneration, current());
  });
});
