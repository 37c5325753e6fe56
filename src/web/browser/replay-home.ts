import { clockText } from '../../domain/clock-text.ts';

/** The fields of a replay that change while its page is shown. */
interface Shown {
  readonly id: string;
  readonly state: string;
  readonly speed: number | string;
  readonly now: string;
  readonly from: string;
  readonly to: string;
  readonly clients: number;
  readonly pages: readonly { readonly href: string; readonly name: string }[];
  readonly accounts: readonly string[];
}

const PERIOD_MS = 1000;
const cards = [...document.querySelectorAll<HTMLElement>('[data-replay]')];
const keyOf = ({ id, state, speed }: Pick<Shown, 'id' | 'state' | 'speed'>) => `${id} ${state} ${speed}`;

/** Moves the clocks of the page of a process that replays. Other buttons, or other replays, are a new page. */
async function follow(): Promise<void> {
  const answer = await fetch('/', { headers: { accept: 'application/json' } });
  const { replays = [] } = (await answer.json()) as { replays?: readonly Shown[] };
  if (replays.map(keyOf).join() !== cards.map(({ dataset }) => dataset.replay).join()) return location.reload();
  for (const [index, { now, from, to, clients, pages, accounts }] of replays.entries()) {
    const card = cards[index]!;
    const facts = { clients: String(clients), accounts: accounts.join('\n') };
    for (const [name, text] of Object.entries(facts)) {
      // Replays without --paper have no accounts.
      const fact = card.querySelector(`[data-fact=${name}]`);
      if (fact !== null) fact.textContent = text;
    }
    showPages(card.querySelector('[data-fact=pages]')!, pages);
    // A field keeps what somebody wrote into it: its default is not its value any more.
    card.querySelector<HTMLInputElement>('.input[name=now]')!.defaultValue = now;
    const slider = card.querySelector<HTMLInputElement>('[type=range]')!;
    if (slider.matches(':active')) continue;
    const nowMs = Date.parse(now);
    // The slider has the part of the replay that its clock was in.
    if (nowMs < Number(slider.min) || nowMs > Number(slider.max)) return location.reload();
    slider.value = String(nowMs);
    showClock(card, now);
    for (const button of card.querySelectorAll<HTMLButtonElement>('[data-by]')) {
      const ms = nowMs + Number(button.dataset.by);
      button.value = String(Math.min(Math.max(ms, Date.parse(from)), Date.parse(to)));
    }
  }
}

function showClock(card: HTMLElement, now: string): void {
  const text = clockText(now);
  card.querySelector('[data-fact=now]')!.textContent = text;
  card.querySelector('[type=range]')!.ariaValueText = text;
}

/** Writes the links to the markets that are traded now, where they are others than before: a link keeps the focus. */
function showPages(list: Element, pages: Shown['pages']): void {
  const before = [...list.querySelectorAll('a')].map((link) => link.getAttribute('href'));
  if (before.join() === pages.map(({ href }) => href).join()) return;
  const items = pages.map(({ href, name }) => {
    const [item, link] = [document.createElement('li'), document.createElement('a')];
    [link.href, link.textContent, link.className] = [href, name, 'badge'];
    item.append(link);
    return item;
  });
  list.replaceChildren(...items);
  if (items.length === 0) list.append(Object.assign(document.createElement('li'), { textContent: 'none' }));
}

for (const card of cards) {
  const moveTo = async (ms: number) => {
    const body = new URLSearchParams({ replay: card.dataset.replay!.split(' ')[0]!, now: String(ms) });
    await fetch('/', { method: 'POST', body, redirect: 'manual' });
    await follow();
  };
  const slider = card.querySelector<HTMLInputElement>('[type=range]')!;
  slider.addEventListener('input', () => showClock(card, new Date(slider.valueAsNumber).toISOString()));
  slider.addEventListener('change', () => moveTo(slider.valueAsNumber));
  for (const marks of card.querySelectorAll<SVGElement>('.time-bar svg')) {
    const [from, to] = [Number(marks.dataset.from), Number(marks.dataset.to)];
    marks.addEventListener('click', ({ clientX }) => {
      const { left, right } = marks.getBoundingClientRect();
      const padding = Number.parseFloat(getComputedStyle(marks).paddingLeft);
      const part = (clientX - left - padding) / (right - left - 2 * padding);
      return moveTo(Math.round(from + Math.min(Math.max(part, 0), 1) * (to - from)));
    });
  }
}

// A page that nobody sees asks for nothing. The process may be stopped, and come back.
setInterval(() => void (document.hidden || follow().catch(() => {})), PERIOD_MS);
