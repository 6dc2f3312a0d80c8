import assert from 'node:assert/strict';
import { judgeRoom, type RoomLevel } from '../../../apiserver/room/judge-room.ts';
import type { StoreSize } from '../../../apiserver/store/store.ts';

const MIB = 1 << 20;
const GIB = 1 << 30;

const atQuota = (share: number): StoreSize => ({ bytes: share * 2 * GIB, usedBytes: 1, limitBytes: 2 * GIB });
const onDisk = (freeBytes: number, diskBytes = 8 * GIB): StoreSize => ({
  bytes: MIB,
  usedBytes: 1,
  freeBytes,
  diskBytes,
});
const level = (size: StoreSize, before: RoomLevel = 'Enough') => judgeRoom(size, before).level;

describe('the room of a store', () => {
  it('is little at 80 % of a limit and none at 95 %', () => {
    assert.deepEqual(
      [0.1, 0.79, 0.8, 0.94, 0.95, 1.1].map((share) => level(atQuota(share))),
      ['Enough', 'Enough', 'NearlyFull', 'NearlyFull', 'Full', 'Full'],
    );
  });

  it('is enough again only some way below', () => {
    assert.equal(level(atQuota(0.76), 'NearlyFull'), 'NearlyFull');
    assert.equal(level(atQuota(0.74), 'NearlyFull'), 'Enough');
    assert.equal(level(atQuota(0.91), 'Full'), 'Full');
    assert.equal(level(atQuota(0.89), 'Full'), 'NearlyFull');
    assert.equal(level(onDisk(600 * MIB), 'NearlyFull'), 'NearlyFull');
    assert.equal(level(onDisk(700 * MIB), 'NearlyFull'), 'Enough');
  });

  it('is little when a twentieth of the disk is left, or 512 MiB; of a large disk, 10 GiB', () => {
    assert.deepEqual(
      [520, 500, 60].map((free) => level(onDisk(free * MIB))),
      ['Enough', 'NearlyFull', 'Full'],
    );
    assert.deepEqual(
      [4, 6].map((free) => level(onDisk(free * GIB, 100 * GIB))),
      ['NearlyFull', 'Enough'],
    );
    assert.deepEqual(
      [9, 11].map((free) => level(onDisk(free * GIB, 10_000 * GIB))),
      ['NearlyFull', 'Enough'],
    );
  });

  it('is none when etcd refuses, however small it is', () => {
    const room = judgeRoom({ ...atQuota(0.1), refusing: true }, 'Enough');
    assert.equal(room.level, 'Full');
    assert.match(room.message, /etcdctl alarm disarm/);
  });

  it('is told in numbers', () => {
    assert.equal(
      judgeRoom(atQuota(0.85), 'Enough').message,
      'the database of etcd takes 1.7Gi, 85 % of the 2Gi it may have',
    );
    assert.equal(
      judgeRoom(onDisk(300 * MIB), 'Enough').message,
      'the disk of the store has 300Mi left, the store takes 1Mi',
    );
  });

  it('is enough where nothing is known of a limit', () => {
    assert.equal(level({ bytes: 1000 * GIB, usedBytes: GIB }), 'Enough');
  });
});
