import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from './chromium.ts';

const AXE = join(import.meta.dir, '..', 'judges', 'node_modules', 'axe-core', 'axe.min.js');
const CONTROLS = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
const TABS_AT_ONCE = 10;
/** A field of a date has several stops. */
const TABS_PER_CONTROL_MAX = 10;

/** Opens what is folded and the menu of a market, so that the checks below see them. The account's menu would cover other controls. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(`
    for (const folded of document.querySelectorAll('details')) folded.open = true;
    document.querySelector('#export')?.showPopover();
  `);
}

/** What axe-core finds by all its rules up to level AA, experimental ones too: the rule and the element. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(readFileSync(AXE, 'utf8'));
  return await page.evaluate(`(async () => {
    const rules = Object.fromEntries(axe.getRules().filter(({ tags }) => !tags.includes('wcag2aaa')).map(({ ruleId }) => [ruleId, { enabled: true }]));
    const { violations } = await axe.run(document, { rules, resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary));
  })()`);
}

/** Elements that are wider than the window and do not scroll by themselves; empty if the document needs no sideways scrolling. */
export async function overflowing(page: Page): Promise<readonly string[]> {
  return await page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = [...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > clientWidth);
    return [scrollWidth + ' px', ...wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 120))];
  })()`);
}

/**
 * The parts of a page that cannot be read without scrolling sideways: commands and fields that are wider than their box, texts with a letter or two a line,
 * the current link of a menu that is outside of it; links of the bar that are not in one line; and a bar or, on a phone, menus of more than a line.
 */
export async function cutOff(page: Page): Promise<readonly string[]> {
  return await page.evaluate(`(() => {
    const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    const isWider = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1;
    const isColumn = (one) => {
      const { width, height } = one.getBoundingClientRect();
      const { fontSize, position } = getComputedStyle(one);
      return position !== 'absolute' && one.innerText.length > 10 && height > 4 * width && width < 3 * parseFloat(fontSize);
    };
    const isOutside = (one) => {
      const [link, menu] = [one, one.closest('.menus')].map((part) => part.getBoundingClientRect());
      return link.left < menu.left || link.right > menu.right;
    };
    const tops = new Set(all('.bar nav a').map((one) => Math.round(one.getBoundingClientRect().top)));
    return [
      ...all('.commands, .input:not(select)').filter(isWider),
      ...all('p, dt, dd, td, th, li, code').filter(isColumn),
      ...all('.menu [aria-current]').filter(isOutside),
      ...(tops.size > 1 ? all('.bar nav') : []),
      ...all(innerWidth < 768 ? '.bar, .menus' : '.bar').filter((one) => one.offsetHeight > 64),
    ].map((one) => one.outerHTML.slice(0, 160));
  })()`);
}

/** The controls that the key Tab does not reach, and those whose focus cannot be seen. */
export async function keyboardFindings(page: Page): Promise<readonly string[]> {
  const controls = await page.evaluate<number>(`(() => {
    const shown = [...document.querySelectorAll(${JSON.stringify(CONTROLS)})].filter(
      (one) => !one.disabled && one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true }));
    const isChosen = ({ type, name, checked }) =>
      type !== 'radio' || checked || !shown.some((other) => other.type === 'radio' && other.name === name && other.checked);
    globalThis.unreached = new Set(shown.filter(isChosen));
    globalThis.unseen = new Set();
    document.activeElement?.blur();
    document.addEventListener('focusin', ({ target }) => {
      unreached.delete(target);
      const { outlineStyle, outlineWidth } = getComputedStyle(target);
      const { width, height } = target.getBoundingClientRect();
      if (outlineStyle === 'none' || outlineWidth === '0px' || width * height === 0) unseen.add(target);
    });
    return unreached.size;
  })()`);
  for (let tabs = 0; tabs < controls * TABS_PER_CONTROL_MAX; tabs += TABS_AT_ONCE) {
    await Promise.all(Array.from({ length: TABS_AT_ONCE }, () => page.keyboard.press('Tab')));
    if ((await page.evaluate<number>('unreached.size')) === 0) break;
  }
  return await page.evaluate(`[
    ...[...unreached].map((one) => 'not reached: ' + one.outerHTML.slice(0, 160)),
    ...[...unseen].map((one) => 'without a visible focus: ' + one.outerHTML.slice(0, 160)),
  ]`);
}
