import { manualInserts } from '../../import/manual-inserts.ts';
import { AUDIENCES, manualPages } from '../../manual/manual.ts';
import { Menus } from './menus.tsx';

/** The path of a page. `manual` is the list of pages; a name that ends with `.md` is Markdown. */
export function manualPath(name = 'manual'): string {
  return `/docs/${name}`;
}

/** The pages of the manual as a menu. */
export function Contents({ current }: { readonly current: string }) {
  const pages = manualPages(manualInserts());
  return (
    <Menus current={pages.find(({ name }) => name === current)?.title ?? 'all pages'}>
      {AUDIENCES.map(([audience, heading]) => (
        <nav key={audience} class="menu" aria-label={heading}>
          <span class="label">{heading}</span>
          {pages
            .filter((page) => page.audience === audience)
            .map(({ name, title }) => (
              <a key={name} href={manualPath(name)} aria-current={name === current ? 'page' : undefined}>
                {title}
              </a>
            ))}
        </nav>
      ))}
    </Menus>
  );
}

/** A field that searches the manual. */
export function Search({ search }: { readonly search: string }) {
  return (
    <form method="get" action={manualPath()}>
      <input
        class="input"
        type="search"
        name="search"
        value={search}
        placeholder="Search the manual"
        aria-label="Search the manual"
      />
    </form>
  );
}
