/** Counts the comparisons of rebuilt books with the recording. */
export class RebuildChecks {
  /** Recorded books of assets with a book rebuilt from changes. */
  booksCompared = 0;
  /** Compared books that equalled the rebuilt one. */
  booksEqual = 0;
  /** Recorded books whose hash matches their levels. */
  hashesVerified = 0;
  /** Verified books whose message states everything that the hash depends on. */
  completeHashesVerified = 0;
  /** Recorded books whose hash depends on more than the recording has. */
  hashesUnverifiable = 0;
  /** Recorded books whose hash proves that their levels are not what the venue sent. */
  booksDamaged = 0;
  /** Stated best prices that were compared with the rebuilt book of their time. */
  bestCompared = 0;
  /** Compared best prices that differed. */
  bestMismatches = 0;
  /** Hashes of changes that were checked: a sample. */
  changeHashesTried = 0;
  /** Checked hashes of changes that match the rebuilt book. */
  changeHashesVerified = 0;

  /** One sentence for the report; none if nothing was compared. */
  notes(): readonly string[] {
    const hashed = this.hashesVerified + this.hashesUnverifiable + this.booksDamaged;
    if (this.booksCompared + hashed + this.bestCompared === 0) return [];
    const compared = `${this.booksEqual} of ${this.booksCompared} later recorded books equal the book rebuilt from the changes; `;
    return [
      `${this.booksCompared === 0 ? '' : compared}${this.hashesVerified} of ${hashed} book hashes verified, ` +
        `${this.booksDamaged} books damaged; ` +
        `${this.changeHashesVerified} of ${this.changeHashesTried} checked hashes of changes verified; ` +
        `${this.bestMismatches} of ${this.bestCompared} stated best prices differ from the rebuilt book`,
    ];
  }
}
