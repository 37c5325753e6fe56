/** How one connection misbehaves. Shares are from 0 to 1, of its frames. */
export interface LinkFaults {
  /** Lost. */
  drop: number;
  /** Sent twice. */
  double: number;
  /** All frames are late by up to this time, in their order. */
  delayMsMax: number;
  /** The frames of each venue time are late by up to this time of their own, so that others overtake them. */
  reorderMsMax: number;
  /** Messages are put into arrays, taken out of them, and price changes cut into their entries, in their order. */
  recuts: boolean;
  /** The number of subscriptions, from now on, that get no books and no changes. */
  unanswered: number;
}

export const NO_FAULTS: Readonly<LinkFaults> = {
  drop: 0,
  double: 0,
  delayMsMax: 0,
  reorderMsMax: 0,
  recuts: false,
  unanswered: 0,
};
