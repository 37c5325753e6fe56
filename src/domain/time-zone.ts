const HOUR_MS = 3_600_000;
/** The offsets of a zone before and after a change of its clocks differ by less than this. */
const DAY_MS = 24 * HOUR_MS;
/** Offsets change at whole quarters of an hour. */
const OFFSET_STEP_MS = HOUR_MS / 4;
/** Maximum number of offsets in memory: most recordings cover a few days. */
const OFFSETS_MAX = 4096;
const OFFSET = /^([+-])(\d{2}):?(\d{2})$/;

/** Finds the instants of local times. */
export interface TimeZone {
  /**
   * The instants of a local time, ascending: two in an hour that repeats, none in an hour that is skipped. A local time is the Unix
   * milliseconds that it would be in UTC.
   */
  instantsAt(localMs: number): readonly number[];
}

/** A zone by its name: `UTC`, an offset like `+02:00`, or a name of the IANA database. Undefined for any other text. */
export function timeZone(name: string): TimeZone | undefined {
  if (name === 'UTC' || name === 'Z') return fixed(0);
  const [, sign, hours, minutes] = OFFSET.exec(name) ?? [];
  if (hours !== undefined) {
    const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return Number(hours) < 24 && Number(minutes) < 60 ? fixed(sign === '-' ? -offsetMs : offsetMs) : undefined;
  }
  try {
    return named(new Intl.DateTimeFormat('sv-SE', { ...PARTS, timeZone: name }));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Swedish dates are ISO 8601 with a space instead of the T. */
const PARTS: Intl.DateTimeFormatOptions = {
  ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
};

function fixed(offsetMs: number): TimeZone {
  return { instantsAt: (localMs) => [localMs - offsetMs] };
}

function named(format: Intl.DateTimeFormat): TimeZone {
  const offsets = new Map<number, number>();
  const offsetAt = (instantMs: number) => {
    const step = Math.floor(instantMs / OFFSET_STEP_MS) * OFFSET_STEP_MS;
    const known = offsets.get(step);
    if (known !== undefined) return known;
    const offsetMs = Date.parse(`${format.format(step).replace(' ', 'T')}Z`) - step;
    if (offsets.size >= OFFSETS_MAX) offsets.clear();
    offsets.set(step, offsetMs);
    return offsetMs;
  };
  return {
    instantsAt: (localMs) => {
      const candidates = new Set([localMs - DAY_MS, localMs + DAY_MS].map((nearMs) => localMs - offsetAt(nearMs)));
      return [...candidates].filter((instantMs) => instantMs + offsetAt(instantMs) === localMs).sort((a, b) => a - b);
    },
  };
}
