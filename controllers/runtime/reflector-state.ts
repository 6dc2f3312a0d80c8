/** Where a reflector is. `failures` counts what went wrong since something last went right; it sets the next wait. */
export type ReflectorState = Listing | Watching | Waiting | { readonly at: 'stopped' };

/** Asking for the list: page by page, or all at once after a page expired under us. */
export interface Listing {
  readonly at: 'listing';
  readonly paged: boolean;
  readonly continueToken?: string;
  readonly failures: number;
}

/** Following changes after `resourceVersion`. */
export interface Watching {
  readonly at: 'watching';
  readonly resourceVersion: string;
  readonly failures: number;
}

/** Backing off before `next`. */
export interface Waiting {
  readonly at: 'waiting';
  readonly next: Listing | Watching;
}

/** What can happen to a reflector. */
export type Happening =
  /** A page came and there are more. */
  | { readonly what: 'page'; readonly continueToken: string }
  /** The last page came, and the cache shows the list. */
  | { readonly what: 'listed'; readonly resourceVersion: string }
  /** A change or a bookmark came. */
  | { readonly what: 'moved'; readonly resourceVersion: string }
  /** The server ended the watch after a fair time. */
  | { readonly what: 'ended' }
  /** The server no longer knows our version, or does not know it yet: only a list helps. */
  | { readonly what: 'expired' }
  /** Anything else went wrong. */
  | { readonly what: 'failed' }
  | { readonly what: 'waited' }
  | { readonly what: 'stopped' };

export const FIRST_STATE: Listing = { at: 'listing', paged: true, failures: 0 };

/**
 * Every transition there is.
 *
 * | in \ on  | page    | listed   | moved    | ended    | expired                          | failed            | waited |
 * |----------|---------|----------|----------|----------|----------------------------------|-------------------|--------|
 * | listing  | listing | watching | -        | -        | listing unpaged, then waiting    | waiting → listing | -      |
 * | watching | -       | -        | watching | watching | listing, waiting when repeated   | waiting → watching| -      |
 * | waiting  | -       | -        | -        | -        | -                                | -                 | `next` |
 *
 * `stopped` leads to stopped from everywhere. A dash is a bug and throws. A failed list starts at its first page: half a list is worth nothing.
 */
export function transition(state: ReflectorState, happening: Happening): ReflectorState {
  if (happening.what === 'stopped' || state.at === 'stopped') return { at: 'stopped' };
  switch (state.at) {
    case 'listing':
      return fromListing(state, happening);
    case 'watching':
      return fromWatching(state, happening);
    case 'waiting':
      if (happening.what === 'waited') return state.next;
      return impossible(state, happening);
    default:
      throw new Error(`unhandled state ${state satisfies never}`);
  }
}

function fromListing(state: Listing, happening: Happening): ReflectorState {
  const failures = state.failures + 1;
  switch (happening.what) {
    case 'page':
      return { ...state, continueToken: happening.continueToken };
    case 'listed':
      return { at: 'watching', resourceVersion: happening.resourceVersion, failures: state.failures };
    case 'expired':
      return state.paged
        ? { at: 'listing', paged: false, failures }
        : { at: 'waiting', next: { at: 'listing', paged: true, failures } };
    case 'failed':
      return { at: 'waiting', next: { at: 'listing', paged: state.paged, failures } };
    default:
      return impossible(state, happening);
  }
}

function fromWatching(state: Watching, happening: Happening): ReflectorState {
  const failures = state.failures + 1;
  switch (happening.what) {
    case 'moved':
      return { at: 'watching', resourceVersion: happening.resourceVersion, failures: 0 };
    case 'ended':
      return { ...state, failures: 0 };
    case 'expired': {
      const list: Listing = { at: 'listing', paged: true, failures };
      return state.failures === 0 ? list : { at: 'waiting', next: list };
    }
    case 'failed':
      return { at: 'waiting', next: { ...state, failures } };
    default:
      return impossible(state, happening);
  }
}

function impossible(state: ReflectorState, happening: Happening): never {
  throw new Error(`a reflector that is ${state.at} cannot have "${happening.what}" happen`);
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;

/** How long to wait after so many failures in a row: doubling from 0.2 s to the longest, less up to half of it by chance. `random` is in [0, 1). */
export function waitMs(failures: number, random: number, longestMs = LONGEST_WAIT_MS): number {
  const full = Math.min(longestMs, FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1));
  return full * (1 - random / 2);
}
