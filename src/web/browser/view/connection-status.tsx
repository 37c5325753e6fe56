import type { ConnectedKey, Connection } from './connection.ts';
import { KeyForm } from './key-form.tsx';

/** How the page reaches the service: the key that it uses, or what a person can do while requests need one. */
export function ConnectionStatus({ connection }: { readonly connection: Connection }) {
  const { value: state } = connection.state;
  if (state.kind === 'closed') {
    const { sentence, link } = state;
    return (
      <div class="card closed">
        <p role="status">
          {sentence} {link !== undefined && <a href={link.href}>{link.text}</a>}
        </p>
        <KeyForm connection={connection} />
      </div>
    );
  }
  return (
    <div class="row small quiet connection">
      {state.kind === 'ready' && state.with !== undefined && (
        <KeyChoice connection={connection} connected={state.with} />
      )}
      <span role="status">{statusText(connection)}</span>
    </div>
  );
}

function statusText({ state, isWaiting }: Connection): string {
  if (state.value.kind === 'connecting') return 'Connecting …';
  return isWaiting.value ? 'Too many requests in this minute: waiting …' : '';
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
