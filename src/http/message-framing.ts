import { METHODS } from 'node:http';

/** What of a request says how long it is and what follows it. Times and bytes are its reader's business. */
export interface RequestFrame {
  /** Bytes of the body behind the head. */
  readonly bodyBytes: number;
  /** Its answer has no body, whatever the answer's head says. */
  readonly isHead: boolean;
  /** No request follows it on its connection. */
  readonly isLast: boolean;
}

/** Why a request is not passed on; `refusal.ts` has the answers. */
export type RefusedMessage =
  | 'malformed-request'
  | 'length-required'
  | 'content-too-large'
  | 'uri-too-long'
  | 'expectation-failed'
  | 'header-too-large'
  | 'method-not-allowed'
  | 'version-not-supported';

export interface MessageLimits {
  /** Of request line and headers with the empty line behind them. */
  readonly headBytesMax: number;
  /** Of the request target. */
  readonly targetBytesMax: number;
  readonly bodyBytesMax: number;
}

/** More fields than any client sends; the parser behind refuses 200, without a word. */
const FIELDS_MAX = 100;

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** A path, or a whole URL as proxies are sent; neither `*` nor what CONNECT asks for: nothing is a tunnel here. */
const TARGET = '(?:/|[Hh][Tt][Tt][Pp][Ss]?://)[\\x21-\\x7e\\x80-\\xff]*';
/** RFC 9112, 3 and 5: no bare CR or LF, no NUL, no folded lines, no space in front of a colon. */
const HEAD = new RegExp(
  `^(${TOKEN}) (${TARGET}) HTTP/(\\d)\\.(\\d)\\r\\n((?:${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n)*)\\r\\n$`,
);
const OTHER_VERSION = /^\S+ \S+ HTTP\/(?:[02-9]\.\d|1\.[2-9])\r\n/;
/** With the blanks around the value: an expression that leaves those at its end out takes the square of their number. */
const FRAMING_FIELD = /^(content-length|transfer-encoding|host|connection|expect):([^\r]*)\r$/gim;
/** The parser behind closes the connection without a word on any other. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
const LENGTH = /^\d{1,15}$/;
const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;

/**
 * The frame of a request whose head is `head`, one character per byte, with the empty line that ends it. Stricter than
 * what stands behind: what two parsers could cut in two ways (both Content-Length and Transfer-Encoding, either twice, a
 * length that is no plain number) is refused, and so is what nobody needs here, a body without a length.
 */
export function frameOf(head: string, limits: MessageLimits): RequestFrame | RefusedMessage {
  const match = HEAD.exec(head);
  if (match === null) return OTHER_VERSION.test(head) ? 'version-not-supported' : 'malformed-request';
  const [, method, target, major, minor, fields] = match;
  if (major !== '1' || (minor !== '1' && minor !== '0')) return 'version-not-supported';
  if (target!.length > limits.targetBytesMax) return 'uri-too-long';
  if (!KNOWN_METHODS.has(method!)) return 'method-not-allowed';
  if (fields!.split('\n', FIELDS_MAX + 2).length > FIELDS_MAX + 1) return 'header-too-large';
  const seen = framingFields(fields!);
  if (seen === undefined) return 'malformed-request';
  if (minor === '1' && seen.host === undefined) return 'malformed-request';
  const length = seen['content-length'];
  if (seen['transfer-encoding'] !== undefined) return length === undefined ? 'length-required' : 'malformed-request';
  if (length !== undefined && !LENGTH.test(length)) return 'malformed-request';
  const bodyBytes = length === undefined ? 0 : Number(length);
  if (bodyBytes > limits.bodyBytesMax) return 'content-too-large';
  if (seen.expect !== undefined) return 'expectation-failed';
  return {
    bodyBytes,
    isHead: method === 'HEAD',
    // Of HTTP/1.0 connections stay open only where both sides say so: here they do not.
    isLast: minor === '0' || CLOSE.test(seen.connection ?? ''),
  };
}

type FramingField = 'content-length' | 'transfer-encoding' | 'host' | 'connection' | 'expect';

/** The fields that frame a message, by their name; undefined where one that may stand once stands twice. */
function framingFields(fields: string): Partial<Record<FramingField, string>> | undefined {
  const seen: Partial<Record<FramingField, string>> = {};
  for (const [, name, text] of fields.matchAll(FRAMING_FIELD)) {
    const field = name!.toLowerCase() as FramingField;
    const value = withoutBlanks(text!);
    if (seen[field] !== undefined && field !== 'connection') return undefined;
    seen[field] = seen[field] === undefined ? value : `${seen[field]}, ${value}`;
  }
  return seen;
}

/** Without spaces and tabs at both ends (RFC 9110, 5.5): `trim` would also take what is no blank in a header. */
function withoutBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

const HEAD_END = '\r\n\r\n';
/** Our own answers have less; what has more is none of ours. */
const ANSWER_HEAD_BYTES_MAX = 64 * 1024;
const STATUS = /^HTTP\/1\.[01] (\d{3})/;
const ANSWER_LENGTH = /\r\ncontent-length:[\t ]*(\d+)[\t ]*(?=\r\n)/i;
const ANSWER_CHUNKED = /\r\ntransfer-encoding:[\t ]*chunked[\t ]*(?=\r\n)/i;
const ANSWER_CLOSES = /\r\nconnection:[\t ]*close[\t ]*(?=\r\n)/i;
const SIZE_LINE_BYTES_MAX = 64;

type AnswerPart = 'head' | 'length' | 'size' | 'chunk' | 'trailer' | 'until-close' | 'ended' | 'broken';

/**
 * Where the answers of the server behind end (RFC 9112, 6.3), one answer at a time, its bytes in any pieces. It is our own
 * server: what is not understood is a defect, 'broken', and ends the connection.
 */
export class AnswerFraming {
  #part: AnswerPart = 'ended';
  #isHead = false;
  #closes = false;
  /** Bytes of the body or of the chunk, with the line end behind it, that are still to come. */
  #left = 0;
  #line = '';

  /** Before the first byte of an answer; `isHead`: to a HEAD request. */
  begin(isHead: boolean): void {
    this.#part = 'head';
    this.#isHead = isHead;
    this.#closes = false;
    this.#left = 0;
    this.#line = '';
  }

  get part(): AnswerPart {
    return this.#part;
  }

  /** Whether any byte of the answer was taken. */
  get hasBegun(): boolean {
    return this.#part !== 'head' || this.#line !== '';
  }

  /** Whether the server behind said that it ends the connection with this answer. */
  get closes(): boolean {
    return this.#closes;
  }

  /** Takes the next bytes; the part that the answer is in behind them. Bytes behind its end are 'broken'. */
  take(bytes: Buffer): AnswerPart {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#part) {
        case 'head':
          at = this.#takeHead(bytes, at);
          break;
        case 'length':
        case 'chunk':
          at = this.#takeData(bytes, at);
          break;
        case 'size':
        case 'trailer':
          at = this.#takeLine(bytes, at);
          break;
        case 'until-close':
          return this.#part;
        default:
          this.#part = 'broken';
          return this.#part;
      }
    }
    return this.#part;
  }

  #takeHead(bytes: Buffer, at: number): number {
    const before = this.#line.length;
    this.#line += bytes.toString('latin1', at, Math.min(bytes.length, at + ANSWER_HEAD_BYTES_MAX));
    const end = this.#line.indexOf(HEAD_END);
    if (end < 0) {
      if (this.#line.length >= ANSWER_HEAD_BYTES_MAX) this.#part = 'broken';
      return bytes.length;
    }
    const head = this.#line.slice(0, end + 2);
    this.#line = '';
    this.#part = this.#partBehind(head);
    return at + end + HEAD_END.length - before;
  }

  #partBehind(head: string): AnswerPart {
    const status = Number(STATUS.exec(head)?.[1]);
    // An interim answer would be followed by another head; nothing here asks for one.
    if (!(status >= 200)) return 'broken';
    this.#closes = ANSWER_CLOSES.test(head);
    if (this.#isHead || status === 204 || status === 304) return 'ended';
    if (ANSWER_CHUNKED.test(head)) return 'size';
    const length = ANSWER_LENGTH.exec(head)?.[1];
    if (length === undefined) return 'until-close';
    this.#left = Number(length);
    return this.#left === 0 ? 'ended' : 'length';
  }

  #takeData(bytes: Buffer, at: number): number {
    const taken = Math.min(this.#left, bytes.length - at);
    this.#left -= taken;
    if (this.#left === 0) this.#part = this.#part === 'length' ? 'ended' : 'size';
    return at + taken;
  }

  /** The size of a chunk, or a line of what stands behind the last one. */
  #takeLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(0x0a, at);
    this.#line += bytes.toString('latin1', at, end < 0 ? bytes.length : end + 1);
    if (this.#line.length > SIZE_LINE_BYTES_MAX) this.#part = 'broken';
    if (end < 0) return bytes.length;
    const line = this.#line.trimEnd();
    this.#line = '';
    if (this.#part === 'trailer') {
      if (line === '') this.#part = 'ended';
      return end + 1;
    }
    const size = /^[0-9A-Fa-f]{1,8}$/.test(line) ? Number.parseInt(line, 16) : undefined;
    if (size === undefined) this.#part = 'broken';
    else if (size === 0) this.#part = 'trailer';
    else {
      this.#part = 'chunk';
      this.#left = size + 2;
    }
    return end + 1;
  }
}
