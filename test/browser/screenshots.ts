import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Box, closeBrowser, openPage } from './chromium.ts';
import { startDemoService } from './demo-service.ts';
import { SCHEMES, SHOWN_PAGES, SIZES, setAppearance, showPage } from './shown-pages.ts';

const ROOT = join(import.meta.dir, '..', '..');

/**
 * `make screenshots`: writes a picture of every page, light and dark, for a desktop and a phone, to `directory`, which is emptied, and
 * the pictures of the manual to `manual`.
 */
async function main(directory: string, manual: string): Promise<void> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await using service = await startDemoService();
  await using watched = await openPage();
  const { page } = watched;
  for (const [index, shown] of SHOWN_PAGES.entries()) {
    await showPage(page, service, shown, SHOWN_PAGES[index - 1]);
    for (const [name, size] of Object.entries(SIZES)) {
      for (const scheme of SCHEMES) {
        await setAppearance(page, size, scheme);
        await page.screenshot({ path: join(directory, `${shown.name}-${name}-${scheme}.png`), fullPage: true });
      }
    }
    if (shown.picture === undefined) continue;
    const { file, height } = shown.picture;
    // The picture is as wide as the text of the manual: it is not shrunk.
    await setAppearance(page, { width: 900, height: 900 }, 'light');
    const { x, y, width } = await page.evaluate<Box>(
      'document.querySelector(".with-menu > :last-child").getBoundingClientRect().toJSON()',
    );
    await page.screenshot({ path: join(manual, file), clip: { x: x - 12, y: y - 12, width: width + 24, height } });
  }
  process.stdout.write(`${directory} has the pages, ${manual} the pictures of the manual\n`);
}

await main(join(ROOT, 'dist', 'screenshots'), join(ROOT, 'src', 'manual'));
await closeBrowser();
