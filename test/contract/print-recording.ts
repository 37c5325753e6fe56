import { RECORDS } from './recording.ts';

/** The recording that the contract is tested on, for `bookreel import -`. */
await Bun.write(Bun.stdout, RECORDS.map((record) => `${JSON.stringify(record)}\n`).join(''));
