/** The simulated process of a nodelet is dead: nothing it does counts any more. */
export class NodeletCrashed extends Error {
  override readonly name = 'NodeletCrashed';
  readonly downMs: number;

  constructor(host: string, downMs: number) {
    super(`the nodelet of ${host} was told to crash`);
    this.downMs = downMs;
  }
}
