import { setOwn } from '../../resources/meta/json-reader.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { compareElements, type PathElement, readElement } from './path-element.ts';

/**
 * A set of fields: a tree of path elements in which some nodes are members. The root stands for the whole object and is never a member
 * itself. Sets are not changed once they are handed out; operations share what they leave as it is, and answer their first argument itself
 * when nothing changes.
 */
export interface FieldSet {
  readonly member: boolean;
  readonly children: ReadonlyMap<PathElement, FieldSet>;
}

const NONE: ReadonlyMap<PathElement, FieldSet> = new Map();
export const EMPTY: FieldSet = { member: false, children: NONE };
const LEAF: FieldSet = { member: true, children: NONE };

export const isEmpty = (set: FieldSet): boolean => !set.member && set.children.size === 0;

/** A node; the two without children are shared. */
export function node(member: boolean, children: ReadonlyMap<PathElement, FieldSet>): FieldSet {
  if (children.size > 0) return { member, children };
  return member ? LEAF : EMPTY;
}

/** The set of these paths. */
export function setOf(...paths: readonly (readonly PathElement[])[]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.add(path);
  return builder.set;
}

/** A set that is still being built. */
export interface GrowingSet {
  member: boolean;
  readonly children: Map<PathElement, GrowingSet>;
}

/** Collects paths. `set` is what was added so far; add nothing after taking it. */
class FieldSetBuilder {
  readonly #root: GrowingSet = { member: false, children: new Map() };

  get set(): FieldSet {
    return this.#root;
  }

  /** Adds one path. The empty path, the whole object, is not tracked. */
  add(path: readonly PathElement[]): void {
    if (path.length === 0) return;
    let at = this.#root;
    for (const element of path) {
      let child = at.children.get(element);
      if (child === undefined) {
        child = { member: false, children: new Map() };
        at.children.set(element, child);
      }
      at = child;
    }
    at.member = true;
  }
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  let changed = b.member && !a.member;
  const children = new Map(a.children);
  for (const [element, theirs] of b.children) {
    const ours = a.children.get(element);
    const both = ours === undefined ? theirs : union(ours, theirs);
    if (both === ours) continue;
    children.set(element, both);
    changed = true;
  }
  return changed ? node(a.member || b.member, children) : a;
}

/** Members of `a` that are not members of `b`. A member of `b` does not take what is below it. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  let changed = a.member && b.member;
  const children = new Map<PathElement, FieldSet>();
  for (const [element, ours] of a.children) {
    const theirs = b.children.get(element);
    const rest = theirs === undefined ? ours : difference(ours, theirs);
    if (rest !== ours) changed = true;
    if (!isEmpty(rest)) children.set(element, rest);
  }
  return changed ? node(a.member && !b.member, children) : a;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<PathElement, FieldSet>();
  for (const [element, ours] of a.children) {
    const theirs = b.children.get(element);
    const both = theirs === undefined ? EMPTY : intersection(ours, theirs);
    if (!isEmpty(both)) children.set(element, both);
  }
  return node(a.member && b.member, children);
}

/** Without these top-level fields and all below them. */
export function withoutTop(set: FieldSet, elements: readonly PathElement[]): FieldSet {
  if (!elements.some((element) => set.children.has(element))) return set;
  return node(set.member, new Map([...set.children].filter(([element]) => !elements.includes(element))));
}

export function sameSet(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.member !== b.member || a.children.size !== b.children.size) return false;
  for (const [element, ours] of a.children) {
    const theirs = b.children.get(element);
    if (theirs === undefined || !sameSet(ours, theirs)) return false;
  }
  return true;
}

export function has(set: FieldSet, path: readonly PathElement[]): boolean {
  let at: FieldSet | undefined = set;
  for (const element of path) at = at?.children.get(element);
  return at?.member === true;
}

/** Every member, in the order of messages: the members of a node before what lies below them. */
export function* pathsOf(set: FieldSet, at: readonly PathElement[] = []): Iterable<readonly PathElement[]> {
  const elements = [...set.children.keys()].sort(compareElements);
  for (const element of elements) if (set.children.get(element)?.member === true) yield [...at, element];
  for (const element of elements) {
    const child = set.children.get(element);
    if (child !== undefined && child.children.size > 0) yield* pathsOf(child, [...at, element]);
  }
}

/** FieldsV1: a node that has others below it says with `.` that it is a member. */
export function encodeFields(set: FieldSet): JsonObject {
  const fields: JsonObject = {};
  if (set.member && set.children.size > 0) fields['.'] = {};
  for (const element of [...set.children.keys()].sort(compareElements)) {
    const child = set.children.get(element);
    if (child !== undefined) setOwn(fields, element, encodeFields(child));
  }
  return fields;
}

/** Reads FieldsV1 as a client wrote it; undefined when it is none. Steps of an unknown sort are passed over. */
export function decodeFields(fields: unknown): FieldSet | undefined {
  return decode(fields, readElement);
}

/** Reads FieldsV1 that `encodeFields` wrote: its steps are in their one form. */
export function decodeStoredFields(fields: unknown): FieldSet | undefined {
  return decode(fields, (text) => text);
}

function decode(fields: unknown, read: (text: string) => PathElement | undefined): FieldSet | undefined {
  if (!isObject(fields)) return undefined;
  const children = new Map<PathElement, FieldSet>();
  let member = false;
  for (const [text, below] of Object.entries(fields)) {
    if (text === '.') {
      member = true;
      continue;
    }
    const inner = decode(below, read);
    if (inner === undefined || text.length < 2 || text[1] !== ':') return undefined;
    if (!'fkvi'.includes(text.slice(0, 1))) continue;
    const element = read(text);
    if (element === undefined) return undefined;
    children.set(element, inner.children.size === 0 ? LEAF : inner);
  }
  return node(member, children);
}
