import { parseFigure } from '../../domain/decimal.ts';
import { rejected } from './fields.ts';
import { REVIVED_VALUES_MAX, refuseTooManyValues } from './json-extent.ts';

/**
 * JSON in which a number that a double does not carry unchanged is NaN, so that one that nobody asks for does no harm. Throws
 * DomainError 'rejected-record' for what is not JSON.
 */
export function parseJsonFigures(text: string): unknown {
  refuseTooManyValues(text, REVIVED_VALUES_MAX);
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? (parseFigure(context?.source ?? '') ?? Number.NaN) : value,
    );
  } catch (error) {
    if (error instanceof SyntaxError) throw rejected('the line is not JSON');
    // What recursion has no room for.
    if (error instanceof RangeError) throw rejected('the JSON is nested too deeply');
    throw error;
  }
}
