import { roundedSize } from '../../../domain/heat-map-picture.ts';
import type { Explorer, ShownMarket } from './explorer.ts';
import { cssColour } from './heat-map-cells.ts';
import type { MarketPlot } from './market-plot.ts';
import { exactText, marketTitle, spanText } from './market-texts.ts';

const [HEAD, FOOT, MARGIN, SHADE] = [62, 64, 16, 2] as const;

/** The picture as a PNG with its market, its date and its legend. */
export async function savedPicture(
  plot: MarketPlot,
  { coin: { value: coin } }: Explorer,
  { market, state }: ShownMarket,
): Promise<Blob> {
  const drawn = plot.copy();
  const ratio = devicePixelRatio;
  const canvas = new OffscreenCanvas(drawn.width + 2 * MARGIN * ratio, drawn.height + (HEAD + FOOT) * ratio);
  const context = canvas.getContext('2d')!;
  const { colours, palette } = plot.style.peek();
  const { ink, quiet, surface, bid, ask, font } = colours;
  context.fillStyle = surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(drawn, MARGIN * ratio, HEAD * ratio);
  context.scale(ratio, ratio);
  const right = canvas.width / ratio - MARGIN;
  /** Writes texts one after the other, each in its colour; on the next line where one does not fit. */
  const write = (top: number, texts: readonly (readonly [text: string, colour: string])[]) => {
    let [x, y] = [MARGIN, top];
    for (const [text, colour] of texts) {
      const { width } = context.measureText(text);
      if (x + width > right) [x, y] = [MARGIN, y + 18];
      context.fillStyle = colour;
      context.fillText(text, x, y);
      x += width + 14;
    }
  };
  context.font = font.replace('12px', 'bold 16px');
  write(26, [[marketTitle(market), ink]]);
  context.font = font;
  const facts = [
    market.slug,
    spanText(state.time.peek()),
    coin.strike === undefined ? '' : `strike ${exactText(coin.strike)}`,
    coin.final === undefined ? '' : `final price ${exactText(coin.final)}`,
    market.winner === null ? '' : `${market.winner} won`,
  ];
  write(
    46,
    facts.filter(Boolean).map((fact) => [fact, quiet] as const),
  );
  const bottom = canvas.height / ratio - FOOT;
  const range = plot.range.peek();
  for (const [nth, side] of range === undefined ? [] : (['bids', 'asks'] as const).entries()) {
    const left = MARGIN + nth * 160;
    for (const [shade, pixel] of palette[side].entries()) {
      context.fillStyle = cssColour(pixel);
      context.fillRect(left + shade * SHADE, bottom + 6, SHADE, 8);
    }
    context.fillStyle = quiet;
    context.fillText(`${side} ${roundedSize(range!.low)}–${roundedSize(range!.high)} shares`, left, bottom + 28);
  }
  const legend = Object.entries({
    ...{ '━ midpoint': ink, '● bought': bid, '● sold': ask, '● side unknown': quiet },
    ...{ '┅ strike': ink, '┈ final price': ink, '▨ gap': quiet },
  });
  write(bottom + 50, legend);
  return await canvas.convertToBlob();
}
