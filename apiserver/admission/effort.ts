/** Thrown by work that would go on beyond what was given to it. */
export class EffortSpent extends Error {
  constructor() {
    super('it takes more work than one request may ask for');
    this.name = 'EffortSpent';
  }
}

/** Pays for work before it is done; throws when there is no more to pay with. */
export type Spend = (work: number) => void;

/** How much one piece of work may compute, in steps of about 10 ns. The same values cost the same, whatever the machine. */
export class Effort {
  #left: number;

  constructor(budget: number) {
    this.#left = budget;
  }

  readonly spend: Spend = (work) => {
    this.#left -= work;
    if (this.#left < 0) throw new EffortSpent();
  };
}
