import type { ApiClient } from '../apiserver/client/client.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import { VM } from '../resources/kinds/vm.ts';
import { isTrue } from '../resources/meta/condition.ts';

const NAMESPACE = 'demo';
const SIZE = { vcpus: 1, memory: '128Mi' };

/** VMs of the quickstart's tenant. */
export class BenchVMs {
  readonly #vms;
  readonly #signal: AbortSignal;

  constructor(client: ApiClient, signal: AbortSignal) {
    this.#vms = client.resource<VM>(VM, NAMESPACE);
    this.#signal = signal;
  }

  /** Milliseconds from sending the create to hearing that the VM is Ready: its agent has answered. */
  async timeStart(name: string, clock: Clock): Promise<number> {
    const began = clock.monotonic();
    const spec = { image: 'tiny-linux', size: SIZE } as VM['spec'];
    const made = await this.#vms.create({ apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec });
    await this.#until(name, made.metadata.resourceVersion, (vm) => vm !== undefined && isTrue(vm, 'Ready'));
    return clock.monotonic() - began;
  }

  /** Deletes a VM and waits until it is gone; one that is not there is gone. */
  async remove(name: string): Promise<void> {
    const list = await this.#vms.list({ fieldSelector: `metadata.name=${name}` }, this.#signal);
    if (list.items.length === 0) return;
    await this.#vms.delete(name, {}, this.#signal);
    await this.#until(name, list.metadata.resourceVersion, (vm) => vm === undefined);
  }

  async removeAll(): Promise<void> {
    const { items } = await this.#vms.list({}, this.#signal);
    for (const { metadata } of items) await this.remove(metadata.name);
  }

  async #until(name: string, resourceVersion: string, isDone: (vm: VM | undefined) => boolean): Promise<void> {
    const options = { fieldSelector: `metadata.name=${name}`, resourceVersion };
    for await (const event of await this.#vms.watch(options, this.#signal)) {
      if (isDone(event.type === 'DELETED' ? undefined : (event.object as VM))) return;
    }
    throw new Error(`the watch of ${name} ended`);
  }
}
