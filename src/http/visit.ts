import type { Socket } from 'bun';
import {
  AnswerFraming,
  frameOf,
  type MessageLimits,
  type RefusedMessage,
  type RequestFrame,
} from './message-framing.ts';
import type { RefusalKind } from './refusal.ts';

/** What each connection is held to. */
export interface VisitLimits extends MessageLimits {
  /** From a request's first byte, or a connection's beginning, to the request's last byte. */
  readonly requestMs: number;
  /** Without a request, between two of them. */
  readonly idleMs: number;
  /** What a client takes of an answer while we wait for it, in the mean over `READ_PERIOD_MS`; 0: as slowly as it likes. */
  readonly readBytesPerSecondMin: number;
}

/** What a visit needs of the door it came in by. */
export interface Door {
  readonly limits: VisitLimits;
  readonly isDraining: boolean;
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** The whole answer to what is refused. */
  refusal(kind: RefusalKind, visit: Visit): Buffer;
  /** Connects to the server behind; `inner…` of the visit is called with what comes of it. */
  connectInner(visit: Visit): void;
  /** The visit's client can be found by this port of ours from now on, or no longer. */
  named(port: number, visit: Visit): void;
  unnamed(port: number, visit: Visit): void;
}

/** How long a reader is watched before its rate is judged; what the kernel takes for it comes in lumps of 64 KiB or more. */
const READ_PERIOD_MS = 30_000;
/** How long a client may take to see that it was answered and to close. */
const LINGER_MS = 2_000;
const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;

type Stage =
  /** No request is under way: none has come, or not all of it. */
  | 'reading'
  /** One request is with the server behind; what comes meanwhile waits. */
  | 'serving'
  /** The last answer is given; what still comes is thrown away, so that a reset does not overtake the answer. */
  | 'leaving'
  | 'gone';

/** A request whose head is there. */
interface Message {
  readonly frame: RequestFrame;
  /** Of head and body. */
  readonly bytes: number;
}

/**
 * One client's connection. Only whole requests are passed on, one at a time, over a connection to the server behind that is
 * opened with the first of them: who sends nothing, or slowly, costs that server nothing. Answers go back at the client's
 * pace, at most one read of them in memory.
 */
export class Visit {
  /** What connections are counted under. */
  readonly site: string;
  readonly address: string;
  readonly #door: Door;
  readonly #client: Socket<Visit>;
  #inner: Socket<Visit> | undefined;
  #innerPort = 0;
  #isConnecting = false;
  #stage: Stage = 'reading';
  #isFresh = true;
  #isLast = false;
  /** Bytes of requests that were not passed on, the first `#searched` of them without an end of a head. */
  #waiting: Buffer = NOTHING;
  #searched = 0;
  /** What of `#waiting` is the next request, once its head is there: read once, in however many pieces its body comes. */
  #message: Message | undefined;
  /** A whole request, or the rest of it, that the server behind has not taken. */
  #toInner: Buffer = NOTHING;
  /** Of an answer, what the client has not taken. */
  #toClient: Buffer = NOTHING;
  readonly #answer = new AnswerFraming();
  /** When the present stage, or in it the present wait, began. */
  #sinceMs: number;
  #stalledMs = 0;
  #stalledSinceMs: number | undefined;
  #takenWhileStalled = 0;

  constructor(door: Door, client: Socket<Visit>, address: string, site: string) {
    this.#door = door;
    this.#client = client;
    this.address = address;
    this.site = site;
    this.#sinceMs = door.nowMs();
  }

  get isUnderWay(): boolean {
    return this.#stage === 'serving';
  }

  /** Bytes from the client. */
  received(bytes: Buffer): void {
    if (this.#stage === 'leaving' || this.#stage === 'gone') return;
    if (this.#stage === 'serving') {
      this.#waiting = joined(this.#waiting, bytes);
      // Whoever sends further requests waits for their turn; what is held meanwhile is one read.
      this.#client.pause();
      return;
    }
    if (this.#waiting.length === 0 && !this.#isFresh) this.#sinceMs = this.#door.nowMs();
    this.#isFresh = false;
    this.#waiting = joined(this.#waiting, bytes);
    this.#readOn();
  }

  /** Passes the next request on if all of it is there, and refuses what will never be one. */
  #readOn(): void {
    this.#message ??= this.#readHead();
    if (this.#message !== undefined && this.#waiting.length >= this.#message.bytes) this.#passOn(this.#message);
  }

  #readHead(): Message | undefined {
    const { limits } = this.#door;
    const end = this.#waiting.indexOf(HEAD_END, Math.max(0, this.#searched - HEAD_END.length));
    if (end < 0) {
      const reason = refusedBeginning(this.#waiting, this.#searched, limits);
      this.#searched = this.#waiting.length;
      if (reason !== undefined) this.refuse(reason);
      return undefined;
    }
    const headBytes = end + HEAD_END.length;
    const frame =
      headBytes > limits.headBytesMax
        ? 'header-too-large'
        : frameOf(this.#waiting.toString('latin1', 0, headBytes), limits);
    if (typeof frame !== 'string') return { frame, bytes: headBytes + frame.bodyBytes };
    this.refuse(frame);
    return undefined;
  }

  #passOn({ frame, bytes }: Message): void {
    this.#toInner = this.#waiting.subarray(0, bytes);
    this.#waiting = this.#waiting.length === bytes ? NOTHING : this.#waiting.subarray(bytes);
    this.#searched = 0;
    this.#message = undefined;
    this.#stage = 'serving';
    this.#isLast = frame.isLast;
    this.#stalledMs = 0;
    this.#takenWhileStalled = 0;
    this.#answer.begin(frame.isHead);
    if (this.#inner !== undefined) this.innerDrained();
    else if (!this.#isConnecting) {
      this.#isConnecting = true;
      this.#door.connectInner(this);
    }
  }

  innerOpened(inner: Socket<Visit>): void {
    this.#isConnecting = false;
    if (this.#stage !== 'serving') {
      inner.terminate();
      return;
    }
    this.#inner = inner;
    this.#innerPort = inner.localPort;
    this.#door.named(this.#innerPort, this);
    this.innerDrained();
  }

  innerFailed(): void {
    this.#isConnecting = false;
    if (this.#stage === 'serving') this.refuse('unavailable');
  }

  innerDrained(): void {
    if (this.#toInner.length === 0 || this.#inner === undefined) return;
    this.#toInner = rest(this.#toInner, this.#inner.write(this.#toInner));
  }

  /** Bytes from the server behind. */
  answered(bytes: Buffer): void {
    if (this.#stage !== 'serving') {
      this.#dropInner();
      return;
    }
    if (this.#answer.take(bytes) === 'broken') {
      this.terminate();
      return;
    }
    if (this.#toClient.length > 0) {
      this.#toClient = joined(this.#toClient, bytes);
      return;
    }
    this.#toClient = rest(bytes, this.#client.write(bytes));
    if (this.#toClient.length > 0) this.#stall();
    else if (this.#answer.part === 'ended') this.#end();
  }

  innerClosed(inner: Socket<Visit>): void {
    if (this.#inner !== undefined && inner !== this.#inner) return;
    this.#forgetInner();
    if (this.#stage !== 'serving' || this.#answer.part === 'ended') return;
    if (!this.#answer.hasBegun) {
      this.refuse('unavailable');
      return;
    }
    if (this.#answer.part === 'until-close') {
      this.#isLast = true;
      if (this.#toClient.length === 0) this.#end();
      return;
    }
    // Chunks that do not end and a length that is not reached show that the answer was cut off.
    if (this.#toClient.length > 0) this.#client.write(this.#toClient);
    this.#leave();
  }

  /** The client takes more. */
  drained(): void {
    if (this.#toClient.length === 0) return;
    const before = this.#toClient.length;
    this.#toClient = rest(this.#toClient, this.#client.write(this.#toClient));
    this.#takenWhileStalled += before - this.#toClient.length;
    if (this.#toClient.length > 0) return;
    this.#stalledMs += this.#door.nowMs() - (this.#stalledSinceMs ?? 0);
    this.#stalledSinceMs = undefined;
    if (this.#answer.part === 'ended' || (this.#inner === undefined && this.#answer.part === 'until-close'))
      this.#end();
    else this.#inner?.resume();
  }

  #stall(): void {
    this.#inner?.pause();
    this.#stalledSinceMs ??= this.#door.nowMs();
  }

  /** The answer is with the client, or with its kernel. */
  #end(): void {
    this.#inner?.resume();
    if (this.#isLast || this.#answer.closes || this.#door.isDraining) {
      this.#leave();
      return;
    }
    this.#stage = 'reading';
    this.#sinceMs = this.#door.nowMs();
    if (this.#waiting.length === 0) return;
    this.#client.resume();
    this.#readOn();
  }

  /** Answers that this connection is at an end, and why. */
  refuse(kind: RefusalKind): void {
    this.#client.write(this.#door.refusal(kind, this));
    this.#leave();
  }

  #leave(): void {
    this.#stage = 'leaving';
    this.#waiting = NOTHING;
    this.#toClient = NOTHING;
    this.#sinceMs = this.#door.nowMs();
    this.#dropInner();
    this.#client.resume();
    this.#client.shutdown();
  }

  /** Holds the visit to its times; called every so often. */
  watch(): void {
    const { limits } = this.#door;
    const passedMs = this.#door.nowMs() - this.#sinceMs;
    switch (this.#stage) {
      case 'reading':
        if (this.#waiting.length > 0) {
          if (passedMs >= limits.requestMs) this.refuse('request-timeout');
        } else if (passedMs >= (this.#isFresh ? limits.requestMs : limits.idleMs)) this.#leave();
        break;
      case 'serving':
        if (this.#toClient.length > 0) this.#watchReader();
        break;
      case 'leaving':
        if (passedMs >= LINGER_MS) this.close();
        break;
      case 'gone':
        break;
    }
  }

  #watchReader(): void {
    // The kernel says that there is room only when there is a lot; a slow reader is seen by asking.
    this.drained();
    if (this.#stage !== 'serving' || this.#stalledSinceMs === undefined) return;
    const stalledMs = this.#stalledMs + this.#door.nowMs() - this.#stalledSinceMs;
    if (stalledMs < READ_PERIOD_MS) return;
    if (this.#takenWhileStalled * 1000 < this.#door.limits.readBytesPerSecondMin * stalledMs) {
      this.terminate();
      return;
    }
    this.#stalledMs = 0;
    this.#takenWhileStalled = 0;
    this.#stalledSinceMs = this.#door.nowMs();
  }

  /** The door is closing: who has nothing under way leaves, and who has begun a request may end it. */
  drain(): void {
    if (this.#stage === 'reading' && this.#waiting.length === 0) this.#leave();
  }

  /** Closes; what the kernel holds for the client is still sent. */
  close(): void {
    this.#client.close();
  }

  /** Closes at once, with a reset: the client cannot take what it has for the whole. */
  terminate(): void {
    this.#client.terminate();
  }

  /** The client's connection is closed, by whomever. */
  clientClosed(): void {
    this.#stage = 'gone';
    this.#waiting = NOTHING;
    this.#toClient = NOTHING;
    this.#dropInner();
  }

  #dropInner(): void {
    const inner = this.#inner;
    this.#forgetInner();
    inner?.terminate();
  }

  #forgetInner(): void {
    if (this.#inner === undefined) return;
    this.#inner = undefined;
    this.#toInner = NOTHING;
    this.#door.unnamed(this.#innerPort, this);
  }
}

/** Why bytes without an end of a head can never become a request; the first `searched` of them were looked at. */
function refusedBeginning(bytes: Buffer, searched: number, limits: MessageLimits): RefusedMessage | undefined {
  for (let at = bytes.indexOf(LF, searched); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return 'malformed-request';
  }
  const lineEnd = bytes.indexOf(LF);
  // A method and a version stand in the line as well.
  if ((lineEnd < 0 ? bytes.length : lineEnd) > limits.targetBytesMax + REQUEST_LINE_REST_BYTES) return 'uri-too-long';
  return bytes.length >= limits.headBytesMax ? 'header-too-large' : undefined;
}

const REQUEST_LINE_REST_BYTES = 64;

function joined(front: Buffer, back: Buffer): Buffer {
  return front.length === 0 ? back : Buffer.concat([front, back]);
}

/** What a socket left of `bytes`, having taken `written` of them; -1: it is closed, and nobody wants the rest. */
function rest(bytes: Buffer, written: number): Buffer {
  return written < 0 || written >= bytes.length ? NOTHING : bytes.subarray(written);
}
