/** Path and query as sent. */
export function targetOf({ url }: Request): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  return start < 0 ? '/' : url.slice(start);
}

export function pathOf(request: Request): string {
  const target = targetOf(request);
  const question = target.indexOf('?');
  return question < 0 ? target : target.slice(0, question);
}

/** The query as sent, without the question mark. */
export function searchOf({ url }: Request): string {
  const question = url.indexOf('?');
  return question < 0 ? '' : url.slice(question + 1);
}
