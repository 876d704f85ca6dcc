// The page of one document: what was decided comes from the server after every action, and is drawn from there.
import { ask, element, say } from "./api.js";
import { Keys, run } from "./keys.js";
import { Note } from "./note.js";
import { panel } from "./panel.js";
import { differ, Stream } from "./stream.js";
import { TextView } from "./text.js";

const number = Number(document.getElementById("review").dataset.document);
const path = `/api/documents/${number}`;
const { queue } = document.getElementById("review").dataset; // which part of the queue comes next
const view = { label: null, method: null, evidence: null, at: null, fall: null, other: null, cursor: null, all: false };
const known = new Map(); // evidence by label and method, or the promise of it
const stream = new Stream(path, changed);
const note = new Note(document.getElementById("note"), stream);

async function load() {
  const found = await ask(path + queue);
  view.text = new TextView(document.getElementById("text"), found.parts);
  view.labels = found.labels;
  Object.assign(view, { threshold: found.threshold, methods: found.methods, next: found.next, previous: found.previous });
  document.getElementById("all-labels").replaceChildren(...found.labels.map((one) => element("option", { value: one.label }, one.description ?? "")));
  stream.take(found.review);
  view.review = stream.review;
  note.show();
  const asked = new URLSearchParams(location.hash.slice(1));
  const first = shown()[0]?.label ?? null;
  const label = found.labels.some((one) => one.label === asked.get("label")) ? asked.get("label") : first;
  const method = found.methods.includes(asked.get("method")) ? asked.get("method") : found.methods[0];
  if (label !== null) await choose(label, method, asked.has("at") ? Number(asked.get("at")) : 0);
  else draw();
}

// predicted labels, and those that were decided on, perhaps before another model, most probable first
function shown() {
  return view.labels.filter((one) => one.predicted || view.review.decisions[one.label] || one.label === view.label)
    .sort((one, other) => other.probability - one.probability);
}

// the evidence, if it is known; else nothing, and it is drawn when it comes
function evidence(label, method) {
  const key = JSON.stringify([label, method]);
  const found = known.get(key);
  if (found === undefined) {
    const asked = ask(`${path}/evidence?${new URLSearchParams({ label, method })}`).then((one) => known.set(key, one));
    known.set(key, asked);
    asked.then(() => view.label === label && explain(), (error) => { known.delete(key); say(error.message); });
  }
  return found === undefined || found instanceof Promise ? null : found;
}

async function choose(label, method = view.method, at = 0) {
  Object.assign(view, { label, method, evidence: null, at: null, fall: null, other: null, wanted: at });
  explain();
}

// shows what is known of the label, and whether another method names other evidence, before anything is accepted
function explain() {
  const found = evidence(view.label, view.method);
  const theirs = view.methods.filter((one) => one !== view.method).map((method) => ({ method, found: evidence(view.label, method) }));
  if (found !== null && view.evidence === null) {
    view.evidence = found;
    view.at = found.for.length ? Math.min(Math.max(0, view.wanted), found.for.length - 1) : null;
  }
  if (found !== null) { // of several other methods, the one that differs most
    const others = theirs.filter((one) => one.found !== null)
      .map((one) => ({ method: one.method, for: one.found.for, apart: distance(found.for, one.found.for) }));
    view.other = others.sort((one, other) => other.apart - one.apart)[0] ?? null;
  }
  draw();
  remember();
  if (view.at !== null) view.text.show(view.evidence.for[view.at]);
}

function distance(one, other) {
  const characters = (spans) => new Set(spans.flatMap(({ part, start, end }) => Array.from({ length: end - start }, (_, at) => `${part} ${start + at}`)));
  const [first, second] = [characters(one), characters(other)];
  const both = [...first].filter((at) => second.has(at)).length;
  const all = first.size + second.size - both;
  return all ? 1 - both / all : 0;
}

function remember() {
  const place = new URLSearchParams({ label: view.label, method: view.method, ...(view.at === null ? {} : { at: view.at }) });
  history.replaceState(null, "", `#${place}`);
}

const drawn = new Map(); // what stands on the page for a label, and what it was made of

// the section of a label, made again only if something in it has changed: lists may be long
function section(label) {
  const current = view.label === label.label;
  const marks = current ? [view.review.marked[label.label], view.review.refused[label.label]] : [];
  const made = JSON.stringify([current, view.review.decisions[label.label], view.method, marks]);
  const found = current ? [view.evidence, view.fall, view.other, view.all] : [];
  const known = drawn.get(label.label);
  if (known && known.made === made && known.found.every((one, at) => one === found[at])) return known.element;
  const one = panel(view, label, actions);
  drawn.set(label.label, { element: one, made, found });
  return one;
}

function draw() {
  const place = document.getElementById("labels");
  const focused = document.activeElement?.closest("[data-label]")?.dataset.label;
  const [sections, standing] = [shown().map(section), [...place.children]];
  if (sections.length !== standing.length || sections.some((one, at) => one !== standing[at])) {
    place.replaceChildren(...sections);
    if (focused !== undefined) place.querySelector(`[data-label="${CSS.escape(focused)}"] button`)?.focus({ preventScroll: true });
  }
  place.querySelector("li.current")?.classList.remove("current");
  if (view.at !== null) place.querySelector(`.current .proposed > :nth-child(${view.at + 1})`)?.classList.add("current");
  const decided = Object.keys(view.review.decisions).length;
  document.getElementById("state").textContent = shown().length
    ? `${shown().length} label${shown().length === 1 ? "" : "s"}, ${decided} decided${view.review.done ? ", done" : ""}`
    : "No label is above its threshold.";
  for (const [name, possible] of [["undo", view.review.undoable], ["redo", view.review.redoable], ["next", view.next], ["previous", view.previous]]) {
    document.querySelector(`[data-do="${name}"]`).disabled = !possible;
  }
  document.querySelector('[data-do="done"]').textContent = view.review.done ? "Reopen" : "Done";
  paint();
}

function paint() {
  const spans = (name) => (view.review[name][view.label] ?? []).map(([part, start, end]) => ({ part, start, end }));
  view.text.paint("evidence", view.evidence?.for ?? []);
  view.text.paint("counter", view.evidence?.against ?? []);
  view.text.paint("other", view.other?.for ?? []);
  view.text.paint("marked", spans("marked"));
  view.text.paint("refused", spans("refused"));
  view.text.paint("current", view.at === null || !view.evidence ? [] : [view.evidence.for[view.at]]);
  view.text.paint("cursor", view.cursor === null ? [] : [view.cursor]);
}

const act = (kind, given) => stream.act(kind, given);

// what the server answered is drawn; what was undone is shown where it was
function changed(kind, old) {
  view.review = stream.review;
  note.show();
  const labels = view.labels.map((one) => one.label).filter((label) => differ(old, view.review, label));
  if (labels.includes(view.label)) view.fall = null; // it was of other evidence, perhaps
  if (["undo", "redo"].includes(kind) && labels.length === 1 && labels[0] !== view.label) choose(labels[0]);
  else draw();
}

function stretch() {
  return view.evidence && view.at !== null ? view.text.complete(view.evidence.for[view.at]) : null;
}

function move(step) {
  const every = view.evidence?.for ?? [];
  if (!every.length) return;
  view.at = ((view.at ?? 0) + step + every.length) % every.length;
  draw();
  remember();
  view.text.show(every[view.at]);
}

function moveLabel(step) {
  const names = shown().map((one) => one.label);
  if (names.length) choose(names[(names.indexOf(view.label) + step + names.length) % names.length]);
}

async function go(to) {
  note.keep();
  if (await stream.settled()) location.href = `/documents/${to}${queue}`;
}

async function correct(moved) {
  const span = stretch();
  const into = span && view.text.stretched(span, moved);
  if (into && (into.start !== span.start || into.end !== span.end)) await act("correct", { label: view.label, span, into });
}

const actions = {
  choose,
  all: () => {
    view.all = true;
    draw();
  },
  show: (one, at) => {
    view.at = at ?? view.at;
    draw();
    remember();
    view.text.show(one);
  },
  accept: () => view.label !== null && act("accept", { label: view.label }),
  reject: () => view.label !== null && act("reject", { label: view.label }),
  confirm: (one = stretch()) => one && act("mark", { label: view.label, span: view.text.complete(one) }),
  refuse: (one = stretch()) => one && act("unmark", { label: view.label, span: view.text.complete(one) }),
  mark: async () => {
    const span = view.cursor ?? view.text.selected();
    if (!span) return say("Select some text first.");
    getSelection().removeAllRanges();
    view.cursor = null;
    await act("mark", { label: view.label, span });
  },
  without: async () => {
    const marked = (view.review.marked[view.label] ?? []).map(([part, start, end]) => ({ part, start, end }));
    const label = view.label;
    const spans = (marked.length ? marked : view.evidence?.for ?? []).map((one) => view.text.complete(one));
    if (!spans.length) return say("There is no evidence to remove.");
    say("Asking the model …");
    const fall = await ask(`${path}/without`, { label, spans });
    say("");
    if (view.label !== label) return; // it is of a label that is no longer shown
    view.fall = { ...fall, mine: marked.length > 0 };
    draw();
  },
  select: () => {
    const { part, start } = stretch() ?? { part: 0, start: 0 };
    const words = view.text.words(part);
    const word = words.find((one) => one.start >= start) ?? words[0];
    if (!word) return say("There are no words to select.");
    view.cursor = view.text.complete(word);
    view.text.show(view.cursor);
    paint();
    say(`selected: ${view.cursor.text}`);
  },
  nextLabel: () => moveLabel(1),
  previousLabel: () => moveLabel(-1),
  nextEvidence: () => move(1),
  previousEvidence: () => move(-1),
  startEarlier: () => correct({ start: -1 }),
  startLater: () => correct({ start: 1 }),
  endEarlier: () => correct({ end: -1 }),
  endLater: () => correct({ end: 1 }),
  method: () => view.label !== null && choose(view.label, view.methods[(view.methods.indexOf(view.method) + 1) % view.methods.length]),
  add: () => {
    const field = document.getElementById("missing");
    if (!field.value) return field.focus();
    const label = field.value;
    field.value = "";
    return act("add", { label }).then(() => view.review.decisions[label] && choose(label));
  },
  note: () => note.field.focus(),
  undo: () => act("undo"),
  redo: () => act("redo"),
  done: async () => {
    note.keep();
    if (!await stream.settled()) return; // what was decided just now counts, and must be there
    const done = !view.review.done;
    const open = shown().filter((one) => one.predicted && !view.review.decisions[one.label]).length;
    if (done && open && !view.warned) {
      view.warned = true;
      return say(`${open} predicted label${open === 1 ? " is" : "s are"} undecided, and will count as wrong. Done again to finish.`);
    }
    if (await act(done ? "done" : "reopen") && done && view.next) await go(view.next);
  },
  next: () => view.next && go(view.next),
  previous: () => view.previous && go(view.previous),
  help: () => {
    keys.list(document.getElementById("keys-list"));
    document.getElementById("keys").showModal();
  },
};

const keys = new Keys(actions);

// selecting by words: a cursor that arrows move
document.addEventListener("keydown", (event) => {
  if (view.cursor === null || event.target.matches("input, textarea, select")) return;
  const words = view.text.words(view.cursor.part);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.key === "Escape") view.cursor = null;
  else if (step !== undefined && event.shiftKey) view.cursor = view.text.stretched(view.cursor, { end: step }) ?? view.cursor;
  else if (step !== undefined) {
    const at = words.findIndex((word) => word.end > view.cursor.start) + step;
    const beyond = at < 0 ? view.text.words(view.cursor.part - 1).at(-1) : view.text.words(view.cursor.part + 1)[0];
    view.cursor = view.text.complete(words[at] ?? beyond ?? words[Math.max(0, at - step)]);
  } else return;
  event.preventDefault();
  paint();
  if (view.cursor) {
    view.text.show(view.cursor);
    say(`selected: ${view.cursor.text}`);
  }
});

for (const button of document.querySelectorAll("[data-do]")) {
  button.addEventListener("click", () => run(actions[button.dataset.do]));
}
addEventListener("beforeunload", (event) => {
  if (stream.waiting || (stream.failures && note.unsaved)) event.preventDefault(); // the browser asks
});
document.getElementById("missing").addEventListener("keydown", (event) => {
  if (event.key === "Enter") actions.add();
});

// a button beside a selection, for whoever uses the mouse
const floating = document.getElementById("selection");
const offer = element("button", { type: "button", class: "primary", onmousedown: (event) => event.preventDefault(), onclick: () => actions.mark() }, "Mark as evidence");
floating.append(offer);
document.addEventListener("selectionchange", () => {
  const span = view.text?.selected();
  floating.hidden = !span || view.label === null;
  if (floating.hidden) return;
  const box = view.text.range(span).getBoundingClientRect();
  const own = floating.parentElement.getBoundingClientRect();
  floating.style.top = `${box.bottom - own.top + 6}px`;
  floating.style.insetInlineStart = `${Math.max(0, Math.min(box.left - own.left, own.width - 180))}px`;
});

load().catch((error) => {
  document.getElementById("state").textContent = error.message;
});
