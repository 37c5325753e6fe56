import { type MutableResponse, type MutableToken, OAuth2Server } from 'oauth2-mock-server';

export const PROVIDER = { name: 'mock', clientId: 'bookreel' };

/** An OpenID provider on a free port of this machine. The test changes its statements. */
export interface MockProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Changes the next ID token before it is signed. */
  nextToken(change: (token: MutableToken) => void): void;
  /** Changes the next answer of the token endpoint. */
  nextAnswer(change: (answer: MutableResponse) => void): void;
  /** Follows a sign-in URL as a browser would, and returns the query of the callback. */
  visit(url: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startMockProvider(): Promise<MockProvider> {
  const server = new OAuth2Server();
  await server.issuer.keys.generate('RS256');
  await server.start(0, '127.0.0.1');
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.issuer.url = issuer;
  let isRunning = true;
  const stop = async () => {
    if (isRunning) await server.stop();
    isRunning = false;
  };
  return {
    issuer,
    nextToken: (change) => {
      // The access token is signed first.
      server.service.once('beforeTokenSigning', () => server.service.once('beforeTokenSigning', change));
    },
    nextAnswer: (change) => void server.service.once('beforeResponse', change),
    visit: async (url) => {
      const { headers } = await fetch(url, { redirect: 'manual' });
      return new URL(headers.get('location')!).search;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
