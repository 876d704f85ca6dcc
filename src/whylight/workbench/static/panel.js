// One label: its probability, what was decided, its evidence as buttons, and what speaks against it.
import { element, percent } from "./api.js";
import { run } from "./keys.js";

const MOST = 50; // marks that are listed at once

export function panel(view, label, actions) {
  const decision = view.review.decisions[label.label];
  const current = view.label === label.label;
  const head = element(
    "button",
    { type: "button", class: "label-head", "aria-expanded": String(current), onclick: () => actions.choose(label.label) },
    element("span", { class: "label-name" }, label.label),
    label.description ? element("span", { class: "muted" }, ` ${label.description}`) : null,
    element("span", { class: "figure" }, percent(label.probability)),
    decision ? element("span", { class: `badge ${decision}` }, decision) : null,
  );
  const bar = element("span", { class: "probability" }, element("span", { class: "fill" }));
  bar.firstChild.style.width = `${100 * label.probability}%`; // styles set by script are no inline styles
  if (view.threshold !== null) {
    const line = element("span", { class: "threshold", title: `threshold ${percent(view.threshold)}` });
    line.style.insetInlineStart = `${100 * view.threshold}%`;
    bar.append(line);
  }
  const made = element("section", { class: current ? "card label current" : "card label", data: { label: label.label } }, element("h2", {}, head), bar);
  if (current) made.append(...opened(view, label, actions));
  return made;
}

function opened(view, label, actions) {
  const found = view.evidence;
  const decide = element(
    "div",
    { class: "row" },
    element("button", { type: "button", onclick: () => actions.accept() }, "Right"),
    element("button", { type: "button", onclick: () => actions.reject() }, "Wrong"),
    element("button", { type: "button", onclick: () => run(actions.without) }, "Without the evidence?"),
  );
  const methods = element("div", { class: "row methods", role: "group", "aria-label": "Method" });
  for (const method of view.methods) {
    methods.append(element("button", {
      type: "button", class: "chip", "aria-pressed": String(method === view.method), onclick: () => actions.choose(label.label, method),
    }, method));
  }
  if (found === null) return [decide, methods, element("p", { class: "muted" }, "Asking the model …")];
  return [
    decide,
    methods,
    ...doubts(view),
    element("h3", {}, found.speaks ? "Evidence" : "What mattered"),
    list(view, found.for, actions),
    ...beside(view, actions),
    ...own(view, label, actions),
    ...(found.against.length ? [element("h3", {}, "Against it"), list(view, found.against, actions, { kind: "against" })] : []),
    receipt(found),
  ];
}

function doubts(view) {
  const lines = [];
  if (view.fall !== null) {
    const { before, after, words, remover, mine } = view.fall;
    const stays = after > before / 2;
    const what = `${mine ? "what you marked" : "the evidence"}, ${words} word${words === 1 ? "" : "s"} (${remover})`;
    lines.push(element("p", { class: stays ? "note doubt" : "note", role: "status" },
      `Without ${what}: ${percent(before)} becomes ${percent(after)}. ` +
      (!words ? "The model reads no word of it." : stays ? "It hardly falls: this is not what the model goes by, or the same is said elsewhere." : "It falls: the model goes by this.")));
  }
  if (view.other !== null && view.other.apart > 0.5) {
    const shared = view.other.apart === 1 ? "nothing" : `${Math.round(100 * (1 - view.other.apart))} % of it`;
    lines.push(element("p", { class: "note doubt" }, `${view.other.method} names other evidence; they share ${shared}. Look at both before you decide.`));
  }
  return lines;
}

function list(view, stretches, actions, { kind = "" } = {}) {
  const [against, mine] = [kind === "against", kind === ""];
  if (!stretches.length) return element("p", { class: "muted" }, "none");
  return element("ol", { class: `evidence ${mine ? "proposed" : kind}` }, ...stretches.map((one, number) => {
    const state = standing(view, one);
    return element(
      "li",
      { class: state },
      element("button", { type: "button", class: "stretch", dir: "auto", onclick: () => actions.show(one, mine ? number : null) },
        one.text, element("span", { class: "score" }, ` ${one.score >= 0 ? "+" : ""}${one.score.toFixed(2)}`)),
      against ? null : element("button", { type: "button", class: "plain", "aria-label": `right: ${one.text}`, "aria-pressed": String(state === "is-marked"), onclick: () => actions.confirm(one) }, "✓"),
      against ? null : element("button", { type: "button", class: "plain", "aria-label": `wrong: ${one.text}`, "aria-pressed": String(state === "is-refused"), onclick: () => actions.refuse(one) }, "✗"),
    );
  }));
}

// what another method names, where it is something else
function beside(view, actions) {
  if (view.other === null || view.other.apart === 0) return [];
  return [element("h3", {}, `Evidence by ${view.other.method}`), list(view, view.other.for, actions, { kind: "other" })];
}

// what the reviewer marked that the method did not name
function own(view, label, actions) {
  const proposed = new Set(view.evidence.for.map((one) => [one.part, one.start, one.end].join()));
  const rest = (view.review.marked[label.label] ?? []).filter((span) => !proposed.has(span.join()));
  if (!rest.length) return [];
  const more = view.all ? 0 : rest.length - MOST;
  return [element("h3", {}, `Marked by you (${rest.length})`), element("ol", { class: "evidence" }, ...rest.slice(0, more > 0 ? MOST : rest.length).map(([part, start, end]) => {
    const one = view.text.complete({ part, start, end });
    return element("li", { class: "is-marked" },
      element("button", { type: "button", class: "stretch", dir: "auto", onclick: () => actions.show(one, null) }, one.text),
      element("button", { type: "button", class: "plain", "aria-label": `wrong: ${one.text}`, onclick: () => actions.refuse(one) }, "✗"));
  })), ...(more > 0 ? [element("button", { type: "button", class: "plain", onclick: () => actions.all() }, `Show ${more} more`)] : [])];
}

function standing(view, one) {
  const same = (span) => span[0] === one.part && span[1] === one.start && span[2] === one.end;
  if ((view.review.marked[view.label] ?? []).some(same)) return "is-marked";
  return (view.review.refused[view.label] ?? []).some(same) ? "is-refused" : "";
}

function receipt(found) {
  const { forward_passes: forward, backward_passes: backward, seconds, remover, score, notes } = found.receipt;
  const cost = `${found.method}, score ${score}${remover ? `, removed: ${remover}` : ""}; ${forward} forward, ${backward} backward passes, ${seconds.toFixed(2)} s`;
  return element("details", { class: "receipt" }, element("summary", {}, "Receipt"), element("p", {}, cost), ...notes.map((note) => element("p", {}, note)));
}
