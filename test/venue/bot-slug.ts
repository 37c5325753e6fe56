/** Names of the coins in hourly and daily slugs, where they are not the codes. */
const NAMES: Readonly<Record<string, string>> = { btc: 'bitcoin', eth: 'ethereum', sol: 'solana', doge: 'dogecoin' };
const SECONDS: Readonly<Record<string, number>> = { '5m': 300, '15m': 900, '4h': 3600 };

const FORMAT = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  ...({ year: 'numeric', month: 'long', day: 'numeric', hour: 'numeric', hour12: true } as const),
});

function inNewYork(nowMs: number) {
  const parts = Object.fromEntries(FORMAT.formatToParts(nowMs).map(({ type, value }) => [type, value.toLowerCase()]));
  return { month: '', day: '', year: '', hour: '', dayPeriod: '', ...parts };
}

/** The slug of the open market of a coin and timeframe that a bot makes from its clock, as public bots do. */
export function botSlug(coin: string, timeframe: string, nowMs: number): string {
  const name = NAMES[coin] ?? coin;
  if (timeframe === '24h') {
    // The window from noon to noon has the date of its end.
    const { month, day, year, dayPeriod } = inNewYork(nowMs);
    const date = new Date(`${month} ${day} ${year} 00:00 UTC`);
    if (dayPeriod === 'pm') date.setUTCDate(date.getUTCDate() + 1);
    const monthName = date.toLocaleString('en-US', { month: 'long', timeZone: 'UTC' }).toLowerCase();
    return `${name}-up-or-down-on-${monthName}-${date.getUTCDate()}-${date.getUTCFullYear()}`;
  }
  if (timeframe === '1h') {
    const { month, day, year, hour, dayPeriod } = inNewYork(nowMs);
    return `${name}-up-or-down-${month}-${day}-${year}-${hour}${dayPeriod}-et`;
  }
  const seconds = SECONDS[timeframe]!;
  let start = Math.floor(nowMs / 1000 / seconds) * seconds;
  if (timeframe === '4h') {
    while (!['12', '4', '8'].includes(inNewYork(start * 1000).hour)) start -= seconds;
  }
  return `${coin}-updown-${timeframe}-${start}`;
}
