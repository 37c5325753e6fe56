import type { Connection } from './connection.ts';

/** What a person can do while requests need a key; nothing while requests can be sent. */
export function ConnectionStatus({ connection }: { readonly connection: Connection }) {
  const { value: state } = connection.state;
  if (state.kind === 'connecting') return <p role="status">Connecting …</p>;
  if (state.kind === 'ready')
    return connection.isWaiting.value ? <p role="status">Waiting: too many requests.</p> : null;
  const { sentence, link } = state;
  return (
    <p class="notice" role="status">
      {sentence} {link !== undefined && <a href={link.href}>{link.text}</a>}
    </p>
  );
}
