/** A browser without scripts: it keeps cookies, follows no redirect by itself, and says that its forms come from the same site. */
export class PlainBrowser {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }

  /** Opens a path, or the absolute URL of a link. */
  async open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Shown> {
    return await this.#send(path, { headers });
  }

  /** Submits a form. `headers` replace those of a browser; undefined leaves one out. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>> | URLSearchParams = {},
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Shown> {
    const stated = { 'sec-fetch-site': 'same-origin', origin: this.#origin, ...headers };
    const sent = Object.entries(stated).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return await this.#send(path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: Object.fromEntries(sent),
    });
  }

  async #send(path: string, init: RequestInit): Promise<Shown> {
    const headers = new Headers(init.headers);
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    if (cookie !== '') headers.set('cookie', cookie);
    const answer = await fetch(new URL(path, this.#origin), { ...init, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
}

export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}
