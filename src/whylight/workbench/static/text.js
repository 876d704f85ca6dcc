// The text of a document: one text node per part, so that finding and copying work; evidence is painted over it by
// named highlights, which change no node.
import { Offsets } from "./offsets.js";

const NAMES = ["evidence", "counter", "other", "marked", "refused", "current", "cursor"];

export class TextView {
  constructor(place, parts) {
    this.place = place;
    this.parts = parts.map((text, part) => {
      const node = document.createTextNode(text);
      const block = document.createElement("div");
      block.className = "part";
      block.dir = "auto";
      block.append(node);
      if (part > 0) block.classList.add("pair");
      place.append(block);
      return { node, text, offsets: new Offsets(text), words: null };
    });
    this.painted = Object.fromEntries(NAMES.map((name) => [name, new Map()])); // ranges by what they are of
    this.highlights = Object.fromEntries(NAMES.map((name, order) => {
      const one = new Highlight();
      one.priority = order;
      CSS.highlights.set(`wl-${name}`, one);
      return [name, one];
    }));
  }

  range(span) {
    const { node, offsets } = this.parts[span.part];
    const range = document.createRange();
    range.setStart(node, offsets.units(span.start));
    range.setEnd(node, offsets.units(span.end));
    return range;
  }

  // paint stretches, those alone that were not painted so before: there may be thousands
  paint(name, spans) {
    const [one, known] = [this.highlights[name], this.painted[name]];
    const wanted = new Map(spans.map((span) => [`${span.part} ${span.start} ${span.end}`, span]));
    for (const [key, range] of known) {
      if (!wanted.has(key)) {
        one.delete(range);
        known.delete(key);
      }
    }
    for (const [key, span] of wanted) {
      if (known.has(key)) continue;
      const range = this.range(span);
      known.set(key, range);
      one.add(range);
    }
  }

  show(span) {
    const range = this.range(span);
    const box = range.getBoundingClientRect();
    const own = this.place.getBoundingClientRect();
    if (box.top < own.top + 40 || box.bottom > own.bottom - 40) {
      this.place.scrollTop += box.top - own.top - own.height / 3;
    }
    if (box.top < 0 || box.bottom > innerHeight) this.place.scrollIntoView({ block: "start" });
    return range;
  }

  slice(span) {
    const { text, offsets } = this.parts[span.part];
    return text.slice(offsets.units(span.start), offsets.units(span.end));
  }

  complete(span) {
    return { part: span.part, start: span.start, end: span.end, text: this.slice(span) };
  }

  // what the user has selected, trimmed of white space; null if nothing of one part
  selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const part = this.parts.findIndex(({ node }) => node === range.startContainer || range.startContainer.contains?.(node));
    if (part < 0 || !this.place.contains(range.commonAncestorContainer)) return null;
    const { node, text, offsets } = this.parts[part];
    let start = range.startContainer === node ? range.startOffset : 0;
    let end = range.endContainer === node ? range.endOffset : text.length;
    while (start < end && /\s/u.test(text[start])) start++;
    while (end > start && /\s/u.test(text[end - 1])) end--;
    if (start >= end) return null;
    [start, end] = offsets.whole(start, end);
    return this.complete({ part, start: offsets.points(start), end: offsets.points(end) });
  }

  // words of a part, in code points, for whoever moves by keys
  words(part) {
    const one = this.parts[part];
    if (one === undefined) return [];
    if (one.words === null) {
      const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
      one.words = [];
      for (const { segment, index, isWordLike } of segmenter.segment(one.text)) {
        if (isWordLike) {
          one.words.push({ part, start: one.offsets.points(index), end: one.offsets.points(index + segment.length) });
        }
      }
    }
    return one.words;
  }

  // a span whose start or end is moved by words
  stretched(span, { start = 0, end = 0 }) {
    const words = this.words(span.part);
    let first = words.findIndex((word) => word.end > span.start);
    let last = words.findLastIndex((word) => word.start < span.end);
    if (first < 0 || last < 0) return null;
    first = Math.min(Math.max(0, first + start), words.length - 1);
    last = Math.min(Math.max(0, last + end), words.length - 1);
    if (first > last) return null;
    return this.complete({ part: span.part, start: words[first].start, end: words[last].end });
  }
}
