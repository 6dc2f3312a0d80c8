import { rfc3339 } from '../../resources/ambient/clock.ts';
import type { Violation } from '../../resources/invariants/fleet-checker.ts';
import type { Change, Invariant, Step } from '../../resources/invariants/invariant.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

const KEPT = 40;

/** What became of each object lately, in the place of an invariant: a run is never the same twice, so that what led to a violation must be written down. */
export class FleetJournal implements Invariant {
  readonly name = 'journal';
  readonly sentence = 'Everything is written down.';
  readonly #lines = new Map<string, string[]>();

  subjects(step: Step): Iterable<string> {
    for (const change of step.changes) {
      const { kind, metadata } = (change.after ?? change.before) as KubeObject;
      const place = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
      const name = `${kind.toLowerCase()}/${place}`;
      const lines = this.#lines.get(name) ?? [];
      lines.push(`${step.revision} ${rfc3339(step.nowMs)} ${name} ${textOf(change)}`);
      this.#lines.set(name, lines.slice(-KEPT));
    }
    return [];
  }

  findings(): readonly [] {
    return [];
  }

  /** What is known of the objects that violations name, in order. */
  about(violations: readonly Violation[]): readonly string[] {
    const names = new Set(violations.flatMap(({ objects }) => objects));
    return [...names]
      .flatMap((name) => this.#lines.get(name) ?? [])
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  }
}

function textOf({ after }: Change): string {
  if (after === undefined) return 'removed';
  const { metadata, spec, status } = after;
  const { uid, deletionTimestamp, finalizers } = metadata;
  const { images: _, conditions = [], ...rest } = (status ?? {}) as { images?: unknown; conditions?: readonly Told[] };
  const said = conditions.map(({ type, status: is, reason, message }) => `${type}=${is} ${reason}: ${message}`);
  return JSON.stringify({ uid, deletionTimestamp, finalizers, spec, status: rest, said });
}

interface Told {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
