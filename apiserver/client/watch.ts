import { ApiError, type Status } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

/** One change. `BOOKMARK` carries only a resourceVersion. */
export interface WatchEvent<T extends KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/** A line longer than this ends the watch: no object is that large. */
const MAX_LINE_BYTES = 16 << 20;

/** The events of a watch response. An ERROR event throws as `ApiError` (`Expired` means: list again). */
export async function* watchEvents<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<WatchEvent<T>> {
  for await (const line of lines(body)) {
    const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: Partial<Status> };
    if (event.type === 'ERROR') throw ApiError.fromStatus(event.object, 500);
    yield event;
  }
}

/** Non-empty lines of a byte stream, without their ends. Throws when one is over 16 MiB. */
export async function* lines(body: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of body) {
    const text = decoder.decode(piece, { stream: true });
    if (!text.includes('\n')) {
      rest += text;
      if (rest.length > MAX_LINE_BYTES) throw new Error(`a line of the stream is over ${MAX_LINE_BYTES} bytes`);
      continue;
    }
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') yield line;
  }
  if (rest !== '') yield rest;
}
