/** The simulated process of a nodelet is dead: nothing it does counts any more. */
export class NodeletCrashed extends Error {
  override readonly name = 'NodeletCrashed';
  /** When it is to be started again, on the monotonic clock. */
  readonly upAtMs: number;

  constructor(host: string, upAtMs: number) {
    super(`the nodelet of ${host} was told to crash`);
    this.upAtMs = upAtMs;
  }
}
