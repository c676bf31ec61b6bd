/**
 * Pause, resume, cancel, escalate: REQUEST messages on `loop:control`. Sent again with the same id when no ACK came;
 * told to the person when the second try fails too. Knows no editor: a test drives it with a clock of its own.
 */
import type { ControlCommand, ControlMessage, ControlPayload } from "./protocol";

const ACK_MS = 30_000;
const TRIES_MAX = 2;
const OPEN_MAX = 64; // requests without a RESULT; the oldest is given up beyond it

interface Open {
  message: ControlMessage;
  tries: number;
  timer?: NodeJS.Timeout;
  done: (payload: ControlPayload) => void;
}

export class Control {
  private readonly open = new Map<string, Open>();

  constructor(
    private readonly send: (m: ControlMessage) => void,
    private readonly uuid: () => string = () => crypto.randomUUID(),
    private readonly ackMs = ACK_MS,
  ) {}

  /** Resolves with the RESULT's payload, or with a failure of our own when nobody answers. */
  request(run: string, command: ControlCommand, payload: ControlPayload = {}): Promise<ControlPayload> {
    return new Promise((done) => {
      const message: ControlMessage = {
        schema: 0, type: "REQUEST", request_id: this.uuid(), command, target: { run_id: run }, timestamp: new Date().toISOString(), payload,
      };
      for (const [id] of this.open) {
        if (this.open.size < OPEN_MAX) {
          break;
        }
        this.close(id, { status: "failure", message: "too many requests wait for an answer" });
      }
      this.open.set(message.request_id, { message, tries: 0, done });
      this.attempt(message.request_id);
    });
  }

  private attempt(id: string): void {
    const r = this.open.get(id)!;
    r.tries++;
    r.timer = setTimeout(() => {
      if (r.tries < TRIES_MAX) {
        this.attempt(id);
      } else {
        this.close(id, { status: "failure", code: "no_answer", message: "no answer from the server, tried twice" });
      }
    }, this.ackMs);
    this.send(r.message);
  }

  private close(id: string, payload: ControlPayload): void {
    const r = this.open.get(id);
    clearTimeout(r?.timer);
    this.open.delete(id);
    r?.done(payload);
  }

  /** ACK and RESULT; those of other controllers' requests are not for us. */
  answered(m: ControlMessage): void {
    if (m.type === "ACK") {
      clearTimeout(this.open.get(m.request_id)?.timer);
    } else if (m.type === "RESULT") {
      this.close(m.request_id, m.payload ?? {});
    }
  }

  /** The server is gone: nothing more will be answered. */
  lost(): void {
    for (const id of [...this.open.keys()]) {
      this.close(id, { status: "failure", message: "the server ended" });
    }
  }
}
