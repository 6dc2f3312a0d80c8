/** A value that is at hand, or will come. What is at hand is worked with at once: a turn of the event loop's queue for each step is a large part of what a small request costs. */
export type Eventual<T> = T | Promise<T>;

/** What comes of a value with the next step: at once where it is at hand. What `next` throws is thrown or rejected alike. */
export function andThen<T, U>(value: Eventual<T>, next: (value: T) => Eventual<U>): Eventual<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Begins work and calls `over` once it has ended, in whatever way. */
export function whenOver<T>(work: () => Eventual<T>, over: () => void): Eventual<T> {
  let begun: Eventual<T>;
  try {
    begun = work();
  } catch (error) {
    over();
    throw error;
  }
  // Of finally, a promise makes two more.
  if (begun instanceof Promise)
    return begun.then(
      (value) => {
        over();
        return value;
      },
      (error: unknown) => {
        over();
        throw error;
      },
    );
  over();
  return begun;
}
