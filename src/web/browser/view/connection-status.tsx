import { type ConnectedKey, type Connection, statusText } from './connection.ts';
import type { Notice } from './request-refused.ts';

/** The key that the page uses, or what a person can do while requests need one. */
export function ConnectionStatus({ connection }: { readonly connection: Connection }) {
  const { value: state } = connection.state;
  if (state.kind === 'closed') {
    const { sentence, link } = state;
    return (
      <div class="card closed">
        <p role="status">{sentence}</p>
        {link !== undefined && (
          <p>
            <a class="button primary" href={link.href}>
              {link.text}
            </a>
          </p>
        )}
        <KeyForm connection={connection} />
      </div>
    );
  }
  return (
    <div class="row small quiet connection">
      {state.kind === 'ready' && state.connected !== undefined && (
        <KeyChoice connection={connection} connected={state.connected} />
      )}
      <span role="status">{statusText(connection)}</span>
    </div>
  );
}

/** The key and its tier; with several keys a choice. */
function KeyChoice({ connection, connected }: { readonly connection: Connection; readonly connected: ConnectedKey }) {
  const { key, tier, keys } = connected;
  const coins = tier.coins === null ? 'all coins' : tier.coins.map((coin) => coin.toUpperCase()).join(', ');
  return (
    <>
      {keys.length > 1 ? (
        <label class="row">
          Key
          <select
            class="input"
            value={key.id}
            onChange={({ currentTarget }) => void connection.chooseKey(currentTarget.value)}
          >
            {keys.map(({ id, name, prefix }) => (
              <option key={id} value={id}>
                {name ?? `${prefix}…`}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span>Key {key.name ?? `${key.prefix}…`}</span>
      )}
      <span>
        Tier {tier.name}: {coins}
      </span>
    </>
  );
}

/** Asks for a key, which stays in memory, with a copy of the form that the document has. The page's policy lets no form be sent, so no key gets into a URL. */
function KeyForm({ connection }: { readonly connection: Connection }) {
  const submit = (event: Event) => {
    event.preventDefault();
    void connection.useKey((event.target as HTMLFormElement).querySelector('input')!.value);
  };
  return <div ref={copyForm} onSubmit={submit} />;
}

function copyForm(element: HTMLElement | null): void {
  element?.replaceChildren(document.querySelector('template')!.content.cloneNode(true));
}

/** A notice with its links. */
export function NoticeText({ notice: { sentence, link, also } }: { readonly notice: Notice }) {
  return (
    <p class="notice warn" role="status">
      {sentence} {link !== undefined && <a href={link.href}>{link.text}</a>}{' '}
      {also !== undefined && <a href={also.href}>{also.text}</a>}
    </p>
  );
}
