import { formatRows } from './codecs.ts';
import { mappingRows, mappingTexts } from './mapping/shipped-mappings.ts';

/** What pages of the manual say of imports. */
export function manualInserts() {
  return { formats: formatRows(), mappings: mappingRows(), shipped: mappingTexts() };
}
