import { INVARIANTS } from '../../../resources/invariants/all-invariants.ts';
import { FleetChecker, type Violation } from '../../../resources/invariants/fleet-checker.ts';
import type { Change } from '../../../resources/invariants/invariant.ts';
import { WATCHED } from '../../../resources/invariants/watched.ts';
import { type KubeObject, objectKey } from '../../../resources/meta/object.ts';
import { resourceId } from '../../../resources/meta/resource-id.ts';
import { GRANTED } from './crafted-objects.ts';

/** A fleet of objects that no server has seen, changed by hand, one revision after the other, and judged by all invariants. */
export class CraftedFleet {
  readonly #checker = new FleetChecker(INVARIANTS);
  #revision = 0;
  #nowMs = Date.parse(GRANTED);

  /** How it is when the check begins; what that breaks is thrown, unless `found` takes it. */
  constructor(objects: readonly KubeObject[], found = quiet) {
    const changes = objects.map((after) => ({ ...placeOf(after), before: undefined, after }));
    found(this.#checker.begin(changes, ++this.#revision, this.#nowMs));
  }

  /** One revision that makes or changes these; what it breaks. */
  put(...objects: readonly KubeObject[]): readonly string[] {
    return this.#take(objects.map((after) => ({ ...this.#before(after), after })));
  }

  /** One revision that removes these; what it breaks. */
  remove(...objects: readonly KubeObject[]): readonly string[] {
    return this.#take(objects.map((object) => ({ ...this.#before(object), after: undefined })));
  }

  /** One revision that makes or changes some, and removes others; what it breaks. */
  at(puts: readonly KubeObject[], removes: readonly KubeObject[]): readonly string[] {
    const [made, gone] = [puts, removes].map((objects) =>
      objects.map((object) => ({ ...this.#before(object), object })),
    );
    return this.#take([
      ...(made ?? []).map(({ object, ...place }) => ({ ...place, after: object })),
      ...(gone ?? []).map(({ object: _, ...place }) => ({ ...place, after: undefined })),
    ]);
  }

  /** Time goes on, and nothing else happens; what that breaks. */
  pass(ms: number): readonly string[] {
    this.#nowMs += ms;
    return this.#checker.pass(this.#revision, this.#nowMs).map(told);
  }

  /** Nobody looks for a while. */
  pause(ms: number): void {
    this.#nowMs += ms;
    this.#checker.pause(this.#nowMs);
  }

  #take(changes: readonly Change[]): readonly string[] {
    return this.#checker.take(changes, ++this.#revision, this.#nowMs).map(told);
  }

  #before(object: KubeObject) {
    const place = placeOf(object);
    return { ...place, before: this.#checker.state.get(place.resource, place.key) };
  }
}

export const told = ({ invariant, message, standing }: Violation) =>
  `${invariant}: ${message}${standing ? ' (standing)' : ''}`;

function quiet(violations: readonly Violation[]): void {
  if (violations.length > 0) throw new Error(violations.map(told).join('\n'));
}

function placeOf(object: KubeObject) {
  const ref = WATCHED.find(({ kind }) => kind === object.kind);
  if (ref === undefined) throw new Error(`no invariant is about a ${object.kind}`);
  return { resource: resourceId(ref), key: objectKey(object.metadata) };
}
