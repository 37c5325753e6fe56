import { formatRows } from './codecs.ts';
import { mappingRows, mappingTexts } from './mapping/shipped-mappings.ts';

/** Returns the texts about formats and mappings that pages of the manual include. */
export function manualInserts() {
  return { formats: formatRows(), mappings: mappingRows(), shipped: mappingTexts() };
}
