import type { CheckFigures, CheckListener } from '../../apiserver/client/cut/fleet-check.ts';
import type { Gap } from '../../apiserver/client/cut/watched-cut.ts';
import type { Violation } from '../../resources/invariants/fleet-checker.ts';
import { counted } from '../../resources/meta/counted.ts';
import { type Io, printLine, warn } from '../io.ts';

/** Says what a check finds, a line each: for people, or as JSON. What is about the way to the server goes to stderr. */
export class CheckPrinter implements CheckListener {
  readonly #io: Io;
  readonly #json: boolean;
  #saidBroken = '';

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.#json = json;
  }

  begun(revision: number, objects: number): void {
    this.#say({ type: 'begun', revision, objects }, `watching ${objects} objects from revision ${revision} on`);
  }

  violation(violation: Violation): void {
    const { revision, invariant, message, standing } = violation;
    const note = standing ? 'note: so when the check began, which may have been allowed: ' : '';
    this.#say({ type: 'violation', ...violation }, `${note}revision ${revision}: ${invariant}: ${message}`);
  }

  gap(gap: Gap): void {
    this.#say({ type: 'gap', ...gap }, `not checked: revisions ${gap.from} to ${gap.to}: ${gap.why}`);
  }

  /** A server that is away says the same for every watch, again and again. */
  broke(why: string): void {
    const cause = why.replace(/^the watch of \w+ broke off: /, '');
    if (cause === this.#saidBroken) return;
    this.#saidBroken = cause;
    warn(this.#io, `it goes on where it was: ${why}`);
  }

  summary(figures: CheckFigures): void {
    this.#say({ type: 'summary', ...figures }, summaryText(figures));
  }

  #say(object: object, text: string): void {
    printLine(this.#io, this.#json ? JSON.stringify(object) : text);
  }
}

function summaryText(figures: CheckFigures): string {
  const { from, to, judged, unseen, objects, violations, standing } = figures;
  const revisions = from === to ? `revision ${from}` : `${judged} changes, revisions ${from} to ${to}`;
  const parts = [
    `judged ${revisions}, ${objects} objects: ${violations === 0 ? 'no violation' : counted(violations, 'violation')}`,
    ...(standing === 0 ? [] : [`${standing} stood before`]),
    ...(unseen === 0 ? [] : [`${counted(unseen, 'revision')} not checked`]),
  ];
  return parts.join(', ');
}
