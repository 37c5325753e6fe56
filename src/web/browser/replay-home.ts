/** The fields of a replay that change while its page is shown. */
interface Shown {
  readonly id: string;
  readonly state: string;
  readonly speed: number | string;
  readonly now: string;
  readonly clients: number;
  readonly traded: readonly string[];
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
  for (const [index, { now, clients, traded, accounts }] of replays.entries()) {
    const listed = { traded: traded.join(', ') || 'none', accounts: accounts.join('\n') || 'none' };
    const clock = now.replace('T', ' ').replace('Z', ' UTC');
    for (const [name, text] of Object.entries({ now: clock, clients: String(clients), ...listed })) {
      // Replays without --paper have no accounts.
      const fact = cards[index]!.querySelector(`[data-fact=${name}]`);
      if (fact !== null) fact.textContent = text;
    }
    cards[index]!.querySelector('meter')!.value = Date.parse(now);
    // A field keeps what somebody wrote into it: its default is not its value any more.
    cards[index]!.querySelector<HTMLInputElement>('[name=now]')!.defaultValue = now;
  }
}

// A page that nobody sees asks for nothing. The process may be stopped, and come back.
setInterval(() => void (document.hidden || follow().catch(() => {})), PERIOD_MS);
