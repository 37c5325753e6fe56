/** One event of a stream; `id` is the last id in the stream up to the event. */
export interface StreamedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** Parses server-sent events by the HTML Standard (9.2.6), without CR and BOM, which the service does not send. */
export class EventReader {
  readonly events: StreamedEvent[] = [];
  comments = 0;
  retryMs: number | undefined;
  #rest = '';
  #id = '';
  #event = '';
  #data: string[] = [];

  read(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    if (line === '') {
      if (this.#data.length > 0) {
        this.events.push({ id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') });
      }
      this.#event = '';
      this.#data = [];
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === '') this.comments += 1;
    else if (field === 'id') this.#id = value;
    else if (field === 'event') this.#event = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    else throw new Error(`no field of an event stream: ${line}`);
  }
}

/** The events of a whole text. */
export function eventsOf(text: string): readonly StreamedEvent[] {
  const reader = new EventReader();
  reader.read(text);
  return reader.events;
}
