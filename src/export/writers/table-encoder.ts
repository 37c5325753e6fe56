import { powerOfTen, scaledInteger } from '../../domain/decimal.ts';
import { DomainError } from '../../domain/errors.ts';
import type { FlatType } from '../../record/flat-columns.ts';

/** A column of a table. */
export interface TableColumn {
  readonly name: string;
  /** Without meaning for a column of lists. */
  readonly type: FlatType;
  readonly isRequired: boolean;
  /** For exact decimals: the decimals of every value, of which DECIMAL_DIGITS are written. Undefined: doubles. */
  readonly scale?: number | undefined;
  /** For a required column of lists: the required columns of an item. Lists are the last columns of a table. */
  readonly items?: readonly TableColumn[];
}

/** Digits of an exact decimal: as many as 64 bits hold. */
export const DECIMAL_DIGITS = 18;

export type Cell = string | number | boolean | undefined;

/** The values of a column in a group of rows. Whole numbers and decimals are doubles. */
export interface ColumnValues {
  /** One for each row; undefined is null. With `counts`, one for each item of the lists. With `codes`, each value once. */
  readonly values: readonly Cell[];
  /** In place of the values themselves: their indexes in `values`. Such a column has no nulls. */
  readonly codes?: Uint32Array;
  /** For a column in a list: the number of items of each row. */
  readonly counts?: readonly number[];
}

/** Writes a table group by group, each in steps of a few milliseconds. Writes nothing to its buffer before the first step. */
export interface TableEncoder {
  /** A group has at most so many values, or one row. */
  readonly valuesMax: number;
  /** Adds a group: the columns of `leavesOf`, in this order. The caller keeps the values until `continueWriting` returns false. */
  add(rows: number, columns: readonly ColumnValues[]): void;
  /** Call it after the last group. */
  end(): void;
  /** Writes the next step; false if nothing was left. */
  continueWriting(): boolean;
}

export type EncoderOf = (columns: readonly TableColumn[]) => TableEncoder;

/** The columns that have values: those of the items in place of a list. */
export function leavesOf(columns: readonly TableColumn[]): readonly TableColumn[] {
  return columns.flatMap((column) => column.items ?? [column]);
}

/** `value` in units of 10^-scale. Throws DomainError 'conflict' if it needs more decimals or more digits. */
export function decimalUnits(value: number, { name, scale = 0 }: TableColumn): bigint {
  const units = scaledInteger(value, scale);
  if (units !== undefined && units < DECIMAL_END && units > -DECIMAL_END) return units;
  const whole = DECIMAL_DIGITS - scale;
  const sentence = `the ${name} ${value} does not fit a decimal with ${whole} digits before the point and ${scale} after it`;
  throw new DomainError('conflict', `${sentence}: choose numbers as doubles`);
}

const DECIMAL_END = BigInt(powerOfTen(DECIMAL_DIGITS));
