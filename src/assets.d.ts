// What `with { type: … }` imports are to the type checker.

declare module '*.sql' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.lua' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.md' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.css' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*/standalone.js' {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: how a file import is typed
  export default path;
}

declare module '*.zst' {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: how a file import is typed
  export default path;
}

declare module '*.png' {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: how a file import is typed
  export default path;
}

declare module '*.ipynb' {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: how a file import is typed
  export default path;
}

declare module '*.svg' {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: how a file import is typed
  export default path;
}
