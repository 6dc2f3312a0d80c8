/**
 * Thrown where an answer needs work that would keep all others waiting. It is done step by step, with turns for others in between; then the
 * answer is thought out again and finds the work done.
 */
export class LongWork extends Error {
  readonly steps: Iterator<undefined, unknown>;

  constructor(steps: Iterator<undefined, unknown>) {
    super('the answer needs work that takes a while');
    this.name = 'LongWork';
    this.steps = steps;
  }
}
