/** Items of a list: links to descriptions of the interface. Every process that serves it has these paths. */
export function ApiLinks() {
  return (
    <>
      <li>
        <a href="/docs">API reference</a>, with requests to try; it needs no network
      </li>
      <li>
        <a href="/openapi.json">OpenAPI document</a>
      </li>
      <li>
        <a href="/llms.txt">The API as plain text</a>, for language models
      </li>
    </>
  );
}
