/**
 * Runs parts of one thing until the signal aborts or one of them fails: then all are told to end. Resolves, or rejects with that failure, when every one of
 * them has ended. What a part throws after it was told to end is no failure.
 */
export async function together(
  parts: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  signal: AbortSignal,
): Promise<void> {
  const ending = new AbortController();
  const ends = AbortSignal.any([signal, ending.signal]);
  let failure: { readonly error: unknown } | undefined;
  await Promise.all(
    parts.map(async (part) => {
      try {
        await part(ends);
      } catch (error) {
        if (ends.aborted) return;
        failure = { error };
        ending.abort(error);
      }
    }),
  );
  if (failure !== undefined) throw failure.error;
}
