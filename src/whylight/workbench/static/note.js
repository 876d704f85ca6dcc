// The note of a review: saved at every pause, when its field is left, and when the page is left. What was written here and
// is not saved yet stays, whatever the server says, and is tried again.
import { ask } from "./api.js";

const [PAUSE, AGAIN] = [700, 5000]; // milliseconds

export class Note {
  constructor(field, stream) {
    Object.assign(this, { field, stream, taken: "", timer: null }); // `taken` came from the server
    field.addEventListener("input", () => this.later(PAUSE));
    field.addEventListener("change", () => this.keep());
    addEventListener("pagehide", () => this.leave());
  }

  get unsaved() {
    return this.stream.review !== null && this.field.value !== this.stream.review.note;
  }

  later(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.keep(), milliseconds);
  }

  async keep() {
    clearTimeout(this.timer);
    if (this.unsaved && !await this.stream.act("note", { note: this.field.value })) this.later(AGAIN);
  }

  show() {
    const { note } = this.stream.review;
    if (this.field.value === this.taken || this.field.value === note) this.field.value = this.taken = note;
  }

  // the last words of a page: behind what is on its way, and nothing if that is they
  leave() {
    const { path, review, sent } = this.stream;
    const note = this.field.value;
    if (!this.unsaved || (sent?.kind === "note" && sent.note === note)) return;
    ask(path, { version: review.version + (sent === null ? 0 : 1), kind: "note", note }).catch(() => {});
  }
}
