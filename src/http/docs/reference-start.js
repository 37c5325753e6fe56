// The browser runs this before Scalar's own script; both are in one file.
(() => {
  const { configuration } = document.currentScript.dataset;
  const nonce = document.querySelector('meta[property=csp-nonce]').content;

  // The schema library would try to use eval. The page's policy forbids that, and browsers report the attempt.
  globalThis.__zod_globalConfig = { jitless: true };

  // The page's policy requires the nonce of the response on every style element. Scalar sets it on one of them only.
  const { createElement } = document;
  document.createElement = function (...given) {
    const element = createElement.apply(this, given);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };

  document.addEventListener('DOMContentLoaded', () => {
    globalThis.Scalar.createApiReference('#reference', {
      ...JSON.parse(configuration),
      // Scalar accepts all media types of a route with equal quality. People read JSON.
      onBeforeRequest: ({ requestBuilder: { headers } }) => {
        if (headers.get('accept')?.includes('application/json,')) headers.set('accept', 'application/json');
      },
    });
  });
})();
