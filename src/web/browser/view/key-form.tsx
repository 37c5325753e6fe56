import { useRef } from 'preact/hooks';
import type { Connection } from './connection.ts';

/**
 * Asks for a key, which stays in the memory of this page. The policy of the page allows no form to be sent, so that a key cannot get
 * into a URL.
 */
export function KeyForm({ connection }: { readonly connection: Connection }) {
  const input = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    void connection.useKey(input.current!.value);
  };
  return (
    <form class="key-form" onSubmit={submit}>
      <label class="field">
        Key
        <span class="hint">It is sent only to this service, and this page forgets it when it is closed.</span>
        <input
          ref={input}
          class="input"
          type="password"
          placeholder="br_live_…"
          autocomplete="off"
          spellcheck={false}
          required
        />
      </label>
      <button class="button primary" type="submit">
        Use this key
      </button>
    </form>
  );
}
