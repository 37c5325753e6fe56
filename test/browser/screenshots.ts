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
    const { file, end } = shown.picture;
    await setAppearance(page, SIZES.desktop!, 'light');
    const box = (selector: string) =>
      page.evaluate<Box>(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().toJSON()`);
    const { x, y, width } = await box('.with-menu > :last-child');
    const last = await box(end);
    const height = last.y + last.height + 24 - y;
    await page.screenshot({
      path: join(manual, file),
      fullPage: true,
      clip: { x: x - 12, y: y - 12, width: width + 24, height },
    });
  }
  process.stdout.write(`${directory} has the pages, ${manual} the pictures of the manual\n`);
}

await main(join(ROOT, 'dist', 'screenshots'), join(ROOT, 'src', 'manual'));
await closeBrowser();
