import type { ResourceClient } from '../../apiserver/client/client.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

/** Between two looks, when the server ends watches as soon as they begin. */
const PAUSE_MS = 500;

/**
 * Follows one object by name until `holds` is true of it (undefined: it does not exist), and answers it. Rejects when the signal aborts;
 * `onSeen` is told each state that was not it. Survives watches that end or expire by looking again.
 */
export async function watchUntil<T extends KubeObject>(
  resource: ResourceClient<T>,
  name: string,
  holds: (object: T | undefined) => boolean,
  signal: AbortSignal,
  onSeen: (object: T | undefined) => void = () => {},
): Promise<T | undefined> {
  const fieldSelector = `metadata.name=${name}`;
  for (;;) {
    signal.throwIfAborted();
    const { items, metadata } = await resource.list({ fieldSelector }, signal);
    let object = items[0];
    if (holds(object)) return object;
    onSeen(object);
    try {
      for await (const event of await resource.watch(
        { resourceVersion: metadata.resourceVersion, fieldSelector },
        signal,
      )) {
        if (event.type === 'BOOKMARK') continue;
        object = event.type === 'DELETED' ? undefined : event.object;
        if (holds(object)) return object;
        onSeen(object);
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'Expired') throw error;
    }
    await systemClock.sleep(PAUSE_MS, signal);
  }
}
