import type { InstantMs } from '../../domain/instant.ts';
import type { KeyRow } from '../../store/key-rows.ts';
import type { NodeSession } from '../plugins/admission.ts';

/** The first line of a feed. It has secrets: it is never logged. */
export interface Hello {
  /** The version of home. */
  readonly version: string;
  readonly archiveId: string;
  /** The secret of the keys' digests, in hexadecimal. */
  readonly keySecret: string;
  /** The tier of accounts without a grant. */
  readonly newAccountTier: string;
  /** Signs the admissions of the node. */
  readonly session: NodeSession;
  /** True: only the rows that have changed after the position of the request follow; else all rows. */
  readonly isResumed: boolean;
}

/** A line of a feed, from home to a node. */
export interface FeedLine {
  readonly hello?: Hello;
  /** New and changed rows. */
  readonly rows?: readonly KeyRow[];
  /** All rows, or all changes, have been sent. After all rows the node removes those that were not among them. */
  readonly ready?: true;
  /** The state of the rows after this line; valid from `ready` on. `/node/feed?after=POSITION` continues from it. */
  readonly position?: string;
  /** Home's clock. A line has it each second. */
  readonly now?: InstantMs;
}
