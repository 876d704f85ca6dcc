// What a reviewer does with a document: sent at once, one after the other; what comes back is what holds. After one that
// failed, those that were asked for before anybody could see that are not sent.
import { ask, Refused, say } from "./api.js";

export class Stream {
  constructor(path, changed) {
    this.path = `${path}/events`;
    this.changed = changed; // told of every answer: what was done, and the review before it
    this.review = null;
    this.last = Promise.resolve();
    this.sent = null; // what is on its way
    this.waiting = 0; // behind that
    this.failures = 0;
  }

  // labels may have any name, also that of a thing that every object has
  take(review) {
    const plain = (given) => Object.assign(Object.create(null), given);
    this.review = { ...review, decisions: plain(review.decisions), marked: plain(review.marked), refused: plain(review.refused) };
  }

  // do something; whether it is saved
  act(kind, given = {}) {
    if (this.review === null) return Promise.resolve(false); // nothing is shown yet
    const before = this.failures;
    this.waiting += 1;
    this.last = this.last.catch(() => {}).then(async () => {
      this.waiting -= 1;
      if (this.failures === before) await this.send(kind, given);
      return this.failures === before;
    });
    return this.last;
  }

  async send(kind, given) {
    const old = this.review;
    this.sent = { kind, ...given };
    try {
      this.take(await ask(this.path, { version: old.version, ...this.sent }));
      say(`${kind}: saved`);
    } catch (error) {
      this.failures += 1;
      if (error instanceof Refused && error.code === 409) {
        this.take(error.body);
        say("Somebody else has changed this review; it is shown as it is now. Please look again.");
      } else {
        say(`Not saved: ${error.message}`);
      }
    }
    this.sent = null;
    this.changed(kind, old);
  }

  // whether all that is on its way arrives
  async settled() {
    const before = this.failures;
    await this.last;
    return this.failures === before;
  }
}

// whether two reviews say something else of a label
export function differ(one, other, label) {
  return ["decisions", "marked", "refused"].some((name) => JSON.stringify(one[name][label]) !== JSON.stringify(other[name][label]));
}
