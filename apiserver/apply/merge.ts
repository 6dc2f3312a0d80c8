import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { identified } from './list-items.ts';
import { fieldType, formOf, type ListType, type MapType, type MergeType } from './merge-type.ts';
import type { PathElement } from './path-element.ts';

/**
 * What is live with a configuration merged into it. Nothing goes: maps and lists by key gain, scalars and atomic values are the
 * configuration's. Neither argument is changed; what stays is shared with them.
 */
export function merge(live: unknown, config: unknown, type: MergeType): unknown {
  if (config === undefined) return live;
  if (live === undefined) return config;
  const at = formOf(type, config);
  switch (at.form) {
    case 'map':
      return at.type.atomic ? config : mergeMaps(isObject(live) ? live : {}, config, at.type);
    case 'list':
      return at.type.relation === 'atomic' ? config : mergeLists(Array.isArray(live) ? live : [], config, at.type);
    case 'scalar':
      return config;
    default:
      throw new Error(`unhandled form ${at satisfies never}`);
  }
}

/** Where both are empty or null the configuration's says which of the two it is. */
function mergeMaps(live: JsonObject, config: unknown, map: MapType): unknown {
  const wanted = isObject(config) ? config : {};
  if (Object.keys(live).length === 0 && Object.keys(wanted).length === 0) return config;
  const merged: JsonObject = {};
  for (const [name, value] of Object.entries(live)) setOwn(merged, name, value);
  for (const [name, value] of Object.entries(wanted)) {
    const type = fieldType(map, name);
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    setOwn(merged, name, type === undefined ? value : merge(before, value, type));
  }
  return merged;
}

/**
 * Items that both have are merged and stand in the order of the configuration; items that only one has stay near their neighbours, those
 * that are only live in front.
 */
function mergeLists(live: readonly unknown[], config: unknown, list: ListType): unknown {
  const wanted = Array.isArray(config) ? identified(list, config) : [];
  if (live.length === 0 && wanted.length === 0) return config;
  const standing = identified(list, live);
  const liveItems = indexed(standing);
  const wantedElements = new Set(wanted.map(([element]) => element));
  const shared = wanted.map(([element]) => element).filter((element) => liveItems.has(element));
  const merged: unknown[] = [];
  let at = 0;
  const takeLiveUpTo = (end: number) => {
    for (; at < end; at++) {
      const [element, item] = standing[at] ?? [];
      if (element !== undefined && !wantedElements.has(element)) merged.push(item);
    }
  };
  let next = 0;
  for (const [element, item] of wanted) {
    const upcoming = shared[next];
    const place = upcoming === undefined ? -1 : (liveItems.get(upcoming)?.place ?? -1);
    takeLiveUpTo(place < at ? standing.length : place);
    merged.push(merge(liveItems.get(element)?.item, item, list.element));
    if (element !== upcoming) continue;
    next++;
    if (place >= at) at = place + 1;
  }
  takeLiveUpTo(standing.length);
  return merged;
}

interface LiveItem {
  /** Undefined where the item is there twice: then there is nothing to merge with. */
  readonly item: unknown;
  readonly place: number;
}

function indexed(items: readonly (readonly [PathElement, unknown])[]): Map<PathElement, LiveItem> {
  const found = new Map<PathElement, LiveItem>();
  for (const [place, [element, item]] of items.entries()) {
    const earlier = found.get(element);
    found.set(element, earlier === undefined ? { item, place } : { item: undefined, place: earlier.place });
  }
  return found;
}
