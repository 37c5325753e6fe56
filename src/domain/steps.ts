/**
 * The same steps, which fail for good: a generator that has thrown is at its end, so whoever asks it again, in a later view of a database,
 * would take a part of its work for the whole.
 */
export function failingForGood<R>(steps: Iterator<void, R>): Pick<Iterator<void, R>, 'next'> {
  let fault: { readonly error: unknown } | undefined;
  return {
    next: () => {
      if (fault !== undefined) throw fault.error;
      try {
        return steps.next();
      } catch (error) {
        fault = { error };
        throw error;
      }
    },
  };
}
