/**
 * The same steps, which throw the same error again after they have thrown: a generator is then at its end, and a caller that continued, in a
 * later view of a database, would take a part of its work for the whole.
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
