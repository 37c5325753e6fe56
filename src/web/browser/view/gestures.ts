import { perFrame } from './per-frame.ts';

/** The actions of gestures. Places are pixels of the element, from its left top corner. */
export interface GestureActions {
  /** `factor` below 1 shows a shorter time. */
  zoomTime(factor: number, x: number): void;
  zoomPrices(factor: number, y: number): void;
  /** Moves what is shown by this many pixels. */
  drag(byX: number, byY: number): void;
  press(x: number, y: number): void;
  point(place: Place | undefined): void;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

interface Wheeled extends Place {
  readonly turned: number;
  readonly kind: 'time' | 'prices' | 'drag';
}

const WHEEL_PER_ZOOM = 500;
const LINE_PIXELS = 16;
const PRESS_PIXELS_MAX = 4;

/** Listens to wheel, drag and pinch on an element. Calls actions at most once a frame. Returns a function that ends it. */
export function listenToGestures(element: HTMLElement, actions: GestureActions): () => void {
  const pointers = new Map<number, Place>();
  let begun: Place | undefined;
  let isDragged = false;
  let before: Hand | undefined;

  const point = perFrame(actions.point);
  const move = perFrame<void>(() => {
    const hand = handOf([...pointers.values()]);
    if (hand === undefined || before === undefined) return;
    actions.drag(hand.x - before.x, hand.y - before.y);
    if (hand.spread > 0 && before.spread > 0) actions.zoomTime(before.spread / hand.spread, hand.x);
    before = hand;
  });
  // Turns of the wheel within one frame add up.
  let turns: Wheeled[] = [];
  const turn = perFrame<void>(() => {
    for (const { kind, turned, x, y } of turns) {
      if (kind === 'drag') actions.drag(-turned, 0);
      else if (kind === 'prices') actions.zoomPrices(2 ** (turned / WHEEL_PER_ZOOM), y);
      else actions.zoomTime(2 ** (turned / WHEEL_PER_ZOOM), x);
    }
    turns = [];
  });

  const placeOf = ({ clientX, clientY }: MouseEvent): Place => {
    const { left, top } = element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const listeners = {
    pointerdown(event: PointerEvent) {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, placeOf(event));
      if (pointers.size === 1) [begun, isDragged] = [placeOf(event), false];
      else isDragged = true;
      before = handOf([...pointers.values()]);
    },
    pointermove(event: PointerEvent) {
      const place = placeOf(event);
      if (event.pointerType !== 'touch' || isDragged) point(event.pointerType === 'touch' ? undefined : place);
      if (!pointers.has(event.pointerId)) return;
      pointers.set(event.pointerId, place);
      if (begun !== undefined && Math.hypot(place.x - begun.x, place.y - begun.y) > PRESS_PIXELS_MAX) isDragged = true;
      if (isDragged) move();
    },
    pointerup(event: PointerEvent) {
      if (!pointers.delete(event.pointerId)) return;
      if (!isDragged && begun !== undefined) actions.press(begun.x, begun.y);
      before = handOf([...pointers.values()]);
    },
    pointercancel(event: PointerEvent) {
      pointers.delete(event.pointerId);
      before = handOf([...pointers.values()]);
    },
    pointerleave(event: PointerEvent) {
      // What a tap showed stays.
      if (event.pointerType !== 'touch') point(undefined);
    },
    wheel(event: WheelEvent) {
      event.preventDefault();
      const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PIXELS : 1;
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const kind = event.altKey ? 'prices' : isSideways ? 'drag' : 'time';
      const turned = (isSideways ? event.deltaX || event.deltaY : event.deltaY) * scale;
      turns.push({ ...placeOf(event), turned, kind });
      turn();
    },
  } as const;
  // Not passive: the page must not scroll while the wheel zooms.
  const listening = new AbortController();
  const options = { passive: false, signal: listening.signal };
  for (const [name, listener] of Object.entries(listeners)) {
    element.addEventListener(name, listener as EventListener, options);
  }
  return () => listening.abort();
}

/** The middle of the fingers, and how far the first two are apart. */
interface Hand extends Place {
  readonly spread: number;
}

function handOf([first, second]: readonly Place[]): Hand | undefined {
  if (first === undefined) return undefined;
  if (second === undefined) return { ...first, spread: 0 };
  return {
    x: (first.x + second.x) / 2,
    y: (first.y + second.y) / 2,
    spread: Math.max(1, Math.abs(first.x - second.x)),
  };
}
