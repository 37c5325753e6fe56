// What the API reference runs in the browser, in front of Scalar's own script and in the same file.
(() => {
  const { configuration } = document.currentScript.dataset;
  const nonce = document.querySelector('meta[property=csp-nonce]').content;

  // The schema library inside would try whether it may make functions of text. It may not, and trying is reported.
  globalThis.__zod_globalConfig = { jitless: true };

  // The page's policy wants the answer's nonce on every style element; of those that Scalar makes one has it.
  const { createElement } = document;
  document.createElement = function (...given) {
    const element = createElement.apply(this, given);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };

  document.addEventListener('DOMContentLoaded', () => {
    globalThis.Scalar.createApiReference('#reference', {
      ...JSON.parse(configuration),
      // It asks for all types a route has, alike. Of those people read JSON.
      onBeforeRequest: ({ requestBuilder: { headers } }) => {
        if (headers.get('accept')?.includes('application/json,')) headers.set('accept', 'application/json');
      },
    });
  });
})();
