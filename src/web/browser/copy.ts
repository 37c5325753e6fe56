/** `<button data-print hidden>` prints the page. */
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}

/** `<button data-copy="#key" hidden>` copies the text of the element `#key`. Without this script the button stays hidden. */
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  const result = document.createElement('output');
  result.className = 'quiet small';
  button.after(result);
  button.hidden = false;
  button.addEventListener('click', async () => {
    const copied = document.querySelector(button.dataset.copy ?? '');
    // Emptied first, so that a second copy is announced too.
    result.textContent = '';
    result.textContent = await navigator.clipboard.writeText(copied?.textContent ?? '').then(
      () => 'Copied',
      () => 'Your browser does not allow scripts to copy: select the text and copy it',
    );
  });
}
