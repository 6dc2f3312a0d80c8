/** Pays for work of a function of rules before it is done, in steps of the budget; throws when that is used up. */
export type Charge = (steps: number) => void;

const CHARACTERS_A_STEP = 8;

/** Pays for reading a text once. */
export function chargeText(charge: Charge, text: string): void {
  charge(1 + Math.ceil(text.length / CHARACTERS_A_STEP));
}
