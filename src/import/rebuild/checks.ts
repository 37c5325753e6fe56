/** What was compared while books were rebuilt, and how it came out. */
export class RebuildChecks {
  /** Recorded books of assets whose book was known from what came before, and how many equalled it. */
  booksCompared = 0;
  booksEqual = 0;
  /** Recorded books whose hash was found to be that of their levels. */
  hashesVerified = 0;
  /** Those among them whose message states everything that the hash depends on. */
  completeHashesVerified = 0;
  /** Recorded books whose hash depends on more than the recording says. */
  hashesUnverifiable = 0;
  /** Recorded books whose hash proves that their levels are not what the venue sent. */
  booksDamaged = 0;
  /** Stated best prices, and how many differed from the rebuilt book at their time. */
  bestCompared = 0;
  bestMismatches = 0;
  /** Hashes of changes that were tried (a sample of them), and how many were found to be that of the rebuilt book. */
  changeHashesTried = 0;
  changeHashesVerified = 0;

  /** One sentence for a report; none when nothing was compared. */
  notes(): readonly string[] {
    const hashed = this.hashesVerified + this.hashesUnverifiable + this.booksDamaged;
    if (this.booksCompared + hashed + this.bestCompared === 0) return [];
    return [
      `${this.booksEqual} of ${this.booksCompared} later recorded books equal the book rebuilt from the changes; ` +
        `${this.hashesVerified} of ${hashed} book hashes verified, ${this.booksDamaged} books damaged; ` +
        `${this.changeHashesVerified} of ${this.changeHashesTried} hashes of changes verified, of those that were tried; ` +
        `${this.bestMismatches} of ${this.bestCompared} stated best prices differ from the rebuilt book`,
    ];
  }
}
