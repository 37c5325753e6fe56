import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { addSettings } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import type { Bucket, BucketOptions } from '../store/bucket.ts';
import { draftOf } from '../store/on-disk.ts';
import type { Publisher, PublisherOptions } from '../store/publisher.ts';
import { bucketAt } from './bucket-at.ts';
import { EXIT, ExitWith } from './exit.ts';
import { type OptionsOf, programCommand, refuseOtherVerbs } from './program-command.ts';
import { megabytes } from './status-line.ts';
import { stopSignals } from './stop-signals.ts';
import { json, printable, type Terminal } from './terminal.ts';
import { FOR_PARENT } from './verify-process.ts';

const READS = 'the recordings';
/** The requests for a damaged object before it is a problem: they take five seconds. */
const VERIFY_TRIES = 5;

const HELP = `
Nodes ('bookreel serve --node') answer from a bucket of an S3-compatible
storage: the files of sealed markets, and the catalog of all markets. Only what
the bucket lacks is uploaded; if the command is killed, run it again for the
rest. One process at a time publishes into a folder; a server with 'bookreel
serve --books' publishes by itself.

AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL, or a
file named by AWS_SHARED_CREDENTIALS_FILE, say where the bucket is. published.db
in the data directory is a copy of the published catalog, which is made again if
it is missing.

Examples:
  $ bookreel publish now --books s3://acme-books/live
  $ bookreel publish now --follow --books s3://acme-books/live
  $ bookreel publish verify --deep --books s3://acme-books/live
  $ bookreel publish prune --books s3://acme-books/live`;

function nowCommand() {
  return addSettings(programCommand('now'), 'books')
    .description('publish what has changed')
    .addOption(new Option('--follow', 'go on with what changes, until a signal'))
    .addOption(new Option('--checkpoint', 'also write a checkpoint, from which nodes start').conflicts('follow'))
    .option('--take-over', 'go on with the catalog of the archive that this was restored from')
    .addOption(new Option(FOR_PARENT).hideHelp())
    .addHelpText('after', HELP);
}

export function publishCommand(terminal: Terminal): CommandUnknownOpts {
  const now = nowCommand().action(async (_, command) => await publish(terminal, command.optsWithGlobals()));
  const command = programCommand('publish')
    .description('write sealed markets and the catalog into a bucket, for nodes')
    .configureHelp({ visibleOptions: () => now.createHelp().visibleOptions(now) })
    .addCommand(now, { isDefault: true })
    .addCommand(publishVerifyCommand(terminal))
    .addCommand(publishPruneCommand(terminal))
    .addHelpText('after', HELP);
  refuseOtherVerbs(command, now);
  return command;
}

async function publish(terminal: Terminal, options: OptionsOf<typeof nowCommand>): Promise<void> {
  const { first } = stopSignals();
  const end = new AbortController();
  void first.then(() => end.abort());
  if (options.forParent === true) process.once('disconnect', () => end.abort());
  const takesOver = options.takeOver === true;
  const opened = await publisherOf(terminal, options, { takesOver, signal: end.signal }).catch((error: unknown) => {
    if (!end.signal.aborted) throw error;
  });
  if (opened === undefined) return;
  await using publisher = opened;
  const work = options.follow === true ? publisher.follow(end.signal) : publisher.publish();
  await Promise.race([work, first]);
  if (options.checkpoint === true) await publisher.writeCheckpoint();
  const { publication } = publisher;
  if (options.json === true) terminal.out(json(publication));
  else if (options.forParent !== true) terminal.out(`${sentenceOf(publication)}\n`);
}

function sentenceOf({ number, markets, files, fileBytes }: Publisher['publication']): string {
  return `published ${countText(markets, 'market')}, ${countText(files, 'file')} of ${megabytes(fileBytes)}: object ${number}`;
}

function publishVerifyCommand(terminal: Terminal): CommandUnknownOpts {
  return addSettings(programCommand('verify'), 'books')
    .description('check that the bucket has all that nodes need')
    .option('--deep', 'read all of it, and compare digests')
    .addHelpText(
      'after',
      `
The exit code is 3 for problems. A publisher may run meanwhile.

Examples:
  $ bookreel publish verify --books s3://acme-books/live
  $ bookreel publish verify --deep --json --books s3://acme-books/live`,
    )
    .action(async (_, command) => {
      const { data, deep = false, ...options } = command.optsWithGlobals();
      const bucket = bucketOf(terminal, options.books, { tries: VERIFY_TRIES });
      const directory = draftOf(join(data, 'publication'));
      try {
        const { verifyPublication } = await import('../store/catalog-upkeep.ts');
        const { problems, ...found } = await verifyPublication(bucket, directory, deep);
        if (options.json === true) terminal.out(json({ ...found, problems }));
        else {
          const { objects, checkpoints, files, fileBytes } = found;
          const parts = `${countText(objects, 'object')}, ${countText(checkpoints, 'checkpoint')}`;
          terminal.out(
            `${parts}, ${countText(files, 'file')} of ${megabytes(fileBytes)}: ${countText(problems.length, 'problem')}\n`,
          );
          for (const problem of problems) terminal.err(`${printable(problem)}\n`);
        }
        if (problems.length > 0) throw new ExitWith(EXIT.verification);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
}

function publishPruneCommand(terminal: Terminal): CommandUnknownOpts {
  return addSettings(programCommand('prune'), 'books')
    .description('delete from the bucket what nodes do not need any more')
    .addHelpText(
      'after',
      `
Files that no market has had for a day, checkpoints before the last two, and the
objects before those. 'publish --follow' and 'serve --books' do so every day.

Examples:
  $ bookreel publish prune --books s3://acme-books/live`,
    )
    .action(async (_, command) => {
      const options = command.optsWithGlobals();
      await using publisher = await publisherOf(terminal, options);
      await publisher.publish();
      const pruned = await publisher.prune();
      if (options.json === true) return terminal.out(json(pruned));
      const { files, waitingFiles, objects, checkpoints } = pruned;
      const waiting = waitingFiles === 0 ? '' : `; ${countText(waitingFiles, 'file')} from tomorrow on`;
      const kinds = [countText(files, 'file'), countText(objects, 'object'), countText(checkpoints, 'checkpoint')];
      terminal.out(`deleted ${kinds.join(', ')}${waiting}\n`);
    });
}

async function publisherOf(
  terminal: Terminal,
  { data: directory, books }: { readonly data: string; readonly books: string | undefined },
  given: Pick<PublisherOptions, 'takesOver' | 'signal'> = {},
): Promise<Publisher> {
  const { Publisher } = await import('../store/publisher.ts');
  const { clock, err } = terminal;
  const log = (line: string) => err(`${printable(line)}\n`);
  const monotonicMs = () => performance.now();
  return await Publisher.open({
    directory,
    bucket: bucketOf(terminal, books, { signal: given.signal }),
    clock,
    monotonicMs,
    log,
    ...given,
  });
}

function bucketOf(terminal: Terminal, books: string | undefined, options?: BucketOptions): Bucket {
  // The parser makes '' of no value.
  if (books) return bucketAt(terminal, books, READS, options);
  throw new DomainError('invalid-parameter', 'name the bucket with --books, like --books s3://bucket/folder');
}
