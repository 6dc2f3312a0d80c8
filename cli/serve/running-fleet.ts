import type { RunningNodelet } from '../../nodelet/run-nodelet.ts';

/** Hosts at work in this process. Disposing it stops them and leaves guests running. */
export class RunningFleet implements AsyncDisposable {
  /** Rejects when a host cannot go on. */
  readonly failed: Promise<never>;
  readonly #hosts: readonly Pick<RunningNodelet, 'done'>[];
  readonly #ending: AbortController;

  /** `hosts` stop when `ending` aborts. */
  constructor(hosts: readonly Pick<RunningNodelet, 'done'>[], ending: AbortController) {
    this.#hosts = hosts;
    this.#ending = ending;
    this.failed = Promise.race(hosts.map(({ done }) => done.then(() => new Promise<never>(() => {}))));
    this.failed.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('the hosts are stopping'));
    await Promise.allSettled(this.#hosts.map(({ done }) => done));
  }
}
