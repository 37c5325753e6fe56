import type { ComponentChildren } from 'preact';

interface MenusContent {
  /** The name of the page. */
  readonly current: string;
  readonly children: ComponentChildren;
}

/** The menus beside a page. A phone shows a button that opens them, which needs no script. */
export function Menus({ current, children }: MenusContent) {
  return (
    <>
      <button class="button menus-button" type="button" popovertarget="menus">
        Menu<span class="quiet">: {current}</span>
      </button>
      <div id="menus" class="menus" popover="auto">
        {children}
      </div>
    </>
  );
}
