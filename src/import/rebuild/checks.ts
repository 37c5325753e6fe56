/** What was compared while books were rebuilt, and how it came out. */
export interface VenueChecks {
  /** Recorded books of assets whose book was known from what came before, and how many equalled it. */
  booksCompared: number;
  booksEqual: number;
  /** Recorded books whose hash was found to be that of their levels. */
  hashesVerified: number;
  /** Those among them whose message states everything that the hash depends on. */
  completeHashesVerified: number;
  /** Recorded books whose hash depends on more than the recording says. */
  hashesUnverifiable: number;
  /** Recorded books whose hash proves that their levels are not what the venue sent. */
  booksDamaged: number;
  /** Stated best prices, and how many differed from the rebuilt book at their time. */
  bestCompared: number;
  bestMismatches: number;
  /** Hashes of changes that were tried (a sample of them), and how many were found to be that of the rebuilt book. */
  changeHashesTried: number;
  changeHashesVerified: number;
}

export function noChecks(): VenueChecks {
  return {
    booksCompared: 0,
    booksEqual: 0,
    hashesVerified: 0,
    completeHashesVerified: 0,
    hashesUnverifiable: 0,
    booksDamaged: 0,
    bestCompared: 0,
    bestMismatches: 0,
    changeHashesTried: 0,
    changeHashesVerified: 0,
  };
}

/** One sentence for a report; none when nothing was compared. */
export function checksNote(checks: VenueChecks): readonly string[] {
  const { booksCompared, booksEqual, hashesVerified, hashesUnverifiable, booksDamaged } = checks;
  const hashed = hashesVerified + hashesUnverifiable + booksDamaged;
  if (booksCompared + hashed + checks.bestCompared === 0) return [];
  return [
    `${booksEqual} of ${booksCompared} later recorded books equal the book rebuilt from the changes; ` +
      `${hashesVerified} of ${hashed} book hashes verified, ${booksDamaged} books damaged; ` +
      `${checks.changeHashesVerified} of ${checks.changeHashesTried} hashes of changes verified, of those that were tried; ` +
      `${checks.bestMismatches} of ${checks.bestCompared} stated best prices differ from the rebuilt book`,
  ];
}
