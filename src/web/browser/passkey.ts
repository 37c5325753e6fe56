/** `<form data-passkey="/options">` gets the answer of a passkey into its field `answer`, and is sent. */
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) {
  if ('PublicKeyCredential' in window && 'parseCreationOptionsFromJSON' in PublicKeyCredential) offer(form);
}

function offer(form: HTMLFormElement): void {
  const button = form.querySelector('button')!;
  const status = form.querySelector('output')!;
  button.hidden = false;
  status.textContent = '';
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    status.textContent = 'Follow your browser.';
    try {
      form.querySelector<HTMLInputElement>('input[name=answer]')!.value = await answerTo(form.dataset.passkey!);
      form.submit();
    } catch (error) {
      button.disabled = false;
      status.textContent = `Nothing was done. Your browser says: ${error instanceof Error ? error.message : error}`;
    }
  });
}

/** The answer as JSON. Empty if the service gives no options: its answer to the form says why. */
async function answerTo(path: string): Promise<string> {
  const reply = await fetch(path, { method: 'POST', body: new URLSearchParams(), redirect: 'manual' });
  if (!reply.ok) return '';
  const options = await reply.json();
  const credential = await ('user' in options
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
  return JSON.stringify(credential);
}
