import { unreadable } from '../source.ts';
import type { Member } from './member.ts';

/** Bounds of a container. Its members are in memory until the import ends, without their bytes. */
const MEMBERS_MAX = 50_000;
const NAME_BYTES_MAX = 1024;
const MEMBER_BYTES_MAX = 64 * 1024 ** 3;
/** Members that macOS adds to archives: attributes of the files, and how a folder looks. */
const OF_MACOS = /(?:^|\/)(?:__MACOSX\/|\._[^/]*$|\.DS_Store$)/;
const UNPACK = 'unpack it, and import the files in it';

/** The reason why a member is not read, as it follows `because of`. */
export type Obstacle =
  | 'encryption'
  | 'an unknown method of compression'
  | 'holes (a sparse file)'
  | 'a name that leads out of the container'
  | `a name of more than ${typeof NAME_BYTES_MAX} bytes`
  | 'its size';

/** A member as the list has it: its path in the container, and its name in messages. */
export type NamedMember = Pick<Member, 'name' | 'label'>;

/** Collects the members of a container in the order of their names, part 10 after part 9. */
export class MemberList {
  /** Names of members that are certainly not recordings. */
  readonly ignored: string[] = [];
  readonly #label: string;
  readonly #members: Member[] = [];
  readonly #obstacles = new Map<Obstacle, { count: number; readonly first: string }>();
  #count = 0;
  #special = 0;
  #damage: string | undefined;

  /** `label`: the container in messages. */
  constructor(label: string) {
    this.#label = label;
  }

  /** Counts an entry of any kind. Throws 'unreadable' if there are more than MEMBERS_MAX. */
  count(entries = 1): void {
    this.#count += entries;
    if (this.#count <= MEMBERS_MAX) return;
    throw unreadable(`${this.#label} has more than ${MEMBERS_MAX} members: ${UNPACK}`);
  }

  /** Adds the member that `make` makes, unless its name or size keeps it from being read. */
  add(stated: string, bytes: number, make: (named: NamedMember) => Member): void {
    const parts = stated.split('/').filter((part) => part !== '' && part !== '.');
    const name = parts.join('/');
    // An absolute name is one of the container, as for tar and unzip.
    if (parts.length === 0 || parts.includes('..')) this.leaveOut(stated, 'a name that leads out of the container');
    else if (Buffer.byteLength(name) > NAME_BYTES_MAX)
      this.leaveOut(name, `a name of more than ${NAME_BYTES_MAX} bytes`);
    else if (OF_MACOS.test(name)) this.ignored.push(name);
    else if (bytes > MEMBER_BYTES_MAX) this.leaveOut(name, 'its size');
    else this.#members.push(make({ name, label: `'${this.#label.slice(1, -1)}/${name}'` }));
  }

  /** Counts a link or a device, which are never followed. */
  addSpecial(): void {
    this.#special += 1;
  }

  leaveOut(name: string, obstacle: Obstacle): void {
    const counted = this.#obstacles.getOrInsertComputed(obstacle, () => ({ count: 0, first: name.slice(0, 100) }));
    counted.count += 1;
  }

  /** States why the members after those that were added are not known. */
  setDamage(reason: string): void {
    this.#damage ??= `${this.#label} cannot be read to its end (${reason}): it is damaged or cut off`;
  }

  members(): readonly Member[] {
    const { compare } = new Intl.Collator('en', { numeric: true });
    return this.#members.sort((a, b) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1));
  }

  /** A sentence about the links and devices, if there are any. */
  notes(): readonly string[] {
    if (this.#special === 0) return [];
    const what = this.#special === 1 ? 'link or device, which is' : 'links or devices, which are';
    return [`${this.#label} has ${this.#special} ${what} not read`];
  }

  /** Says in one sentence which members are not read, and why; undefined if all are read. */
  problem(): string | undefined {
    const left = [...this.#obstacles].map(([obstacle, { count, first }]) => {
      const members = count === 1 ? `'${first}' is` : `${count} members, for example '${first}', are`;
      return `${members} not read because of ${obstacle}`;
    });
    if (left.length === 0) return this.#damage;
    return `${this.#damage ?? this.#label}: ${left.join(', ')}: ${UNPACK}`;
  }
}
