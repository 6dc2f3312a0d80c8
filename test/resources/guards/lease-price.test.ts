import assert from 'node:assert/strict';
import { priceOf } from '../../../resources/guards/lease-price.ts';
import type { PriceList } from '../../../resources/kinds/price-list.ts';
import { aHost, EPOCH_START } from '../../harness/builders.ts';

const prices: PriceList = {
  apiVersion: 'coppice.dev/v1',
  kind: 'PriceList',
  metadata: { name: 'default', uid: 'p', resourceVersion: '1', creationTimestamp: EPOCH_START },
  spec: {
    currency: 'EUR',
    macPerHour: '0.60',
    vmPerHour: '0',
    vcpuPerHour: '0',
    memoryGiBPerHour: '0',
    macosVMPerHour: '0',
    volumeGiBPerHour: '0',
    macClasses: [
      { name: 'Mac Studio', minVCPUs: 20, minMemory: '64Gi', perHour: '1.95' },
      { name: 'Mac mini', minVCPUs: 8, minMemory: '16Gi', perHour: '0.85' },
      { name: 'much memory', minVCPUs: 8, minMemory: '48Gi', perHour: '1.20' },
    ],
  },
};

describe('the price of a Mac', () => {
  const price = (vcpus: number, memory: string, list: PriceList | undefined = prices) => {
    const host = aHost();
    return priceOf({ ...host, status: { ...host.status, capacity: { vcpus, memory } } }, list).pricePerHour;
  };

  it('is that of the largest class whose size the machine has, both vCPUs and memory', () => {
    assert.equal(price(8, '16Gi'), '0.85');
    assert.equal(price(24, '32Gi'), '0.85');
    assert.equal(price(24, '48Gi'), '1.20');
    assert.equal(price(20, '64Gi'), '1.95');
  });

  it('is that of any Mac where it meets no class, and nothing where there is no list', () => {
    assert.equal(price(4, '64Gi'), '0.60');
    assert.deepEqual(priceOf(aHost(), undefined), { pricePerHour: '0', currency: 'USD' });
  });

  it('goes by what the machine has, not by what guests may use of it', () => {
    const host = aHost({ vcpus: 8, memory: '14Gi' });
    const whole = { ...host, status: { ...host.status, capacity: { vcpus: 8, memory: '16Gi' } } };
    assert.deepEqual(priceOf(whole, prices), { pricePerHour: '0.85', currency: 'EUR' });
  });
});
