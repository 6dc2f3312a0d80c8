import type { ResourceClient } from '../../apiserver/client/client.ts';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import type { VM } from '../../resources/kinds/vm.ts';

const AGAIN_MS = 200;

/** Which hosts VMs were bound to, as a watch of them tells it. */
export class VmBindings {
  /** By uid and epoch. */
  readonly #hosts = new Map<string, Set<string>>();
  readonly #names = new Map<string, string>();

  /** How many bindings were seen. */
  get seen(): number {
    return this.#hosts.size;
  }

  /** Lists and watches until the signal aborts; where that breaks, it begins again. */
  async follow(vms: ResourceClient<VM>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { items, metadata } = await vms.list({}, signal);
        for (const vm of items) this.note(vm);
        for await (const { type, object } of await vms.watch({ resourceVersion: metadata.resourceVersion }, signal)) {
          if (type !== 'BOOKMARK') this.note(object);
        }
      } catch {
        // The server it watched at is gone, or has not what it asks for any more.
        await clock.sleep(AGAIN_MS, signal).catch(() => {});
      }
    }
  }

  note({ metadata, spec }: VM): void {
    if (spec.hostName === undefined) return;
    const binding = `${metadata.uid} ${spec.epoch}`;
    const hosts = this.#hosts.get(binding) ?? new Set();
    this.#hosts.set(binding, hosts.add(spec.hostName));
    this.#names.set(binding, metadata.name);
  }

  /** Bindings of one epoch to several hosts, in words. */
  faults(): readonly string[] {
    return [...this.#hosts]
      .filter(([, hosts]) => hosts.size > 1)
      .map(
        ([binding, hosts]) =>
          `${this.#names.get(binding)} was bound to ${[...hosts].join(' and ')} in one epoch (${binding})`,
      );
  }
}
