// Keys: every action has one, all can be changed, and `?` lists them.
import { element, say } from "./api.js";

const KEPT = "whylight-keys";
const TAKEN = ["Enter", " ", "Tab", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]; // they press and move
const WORDS = {
  nextLabel: ["j", "next label"],
  previousLabel: ["k", "previous label"],
  nextEvidence: ["n", "next evidence"],
  previousEvidence: ["p", "previous evidence"],
  accept: ["a", "the label is right"],
  reject: ["r", "the label is wrong"],
  confirm: ["y", "the evidence is right"],
  refuse: ["x", "the evidence is wrong"],
  mark: ["m", "mark the selected text as evidence"],
  select: ["s", "select by words: arrows move, Shift with arrows extends, m marks, Escape ends"],
  startEarlier: ["[", "evidence starts one word earlier"],
  startLater: ["]", "evidence starts one word later"],
  endEarlier: ["{", "evidence ends one word earlier"],
  endLater: ["}", "evidence ends one word later"],
  without: ["w", "score the text without this label's evidence"],
  method: ["v", "next method"],
  add: ["+", "add a label that was missed"],
  note: ["e", "write a note"],
  undo: ["u", "undo"],
  redo: ["U", "redo"],
  done: ["d", "done, and on to the next document"],
  next: [".", "next document"],
  previous: [",", "previous document"],
  help: ["?", "show the keys"],
};

function kept() {
  try {
    const found = Object.entries(JSON.parse(localStorage.getItem(KEPT)) ?? {});
    return Object.fromEntries(found.filter(([name, key]) => name in WORDS && typeof key === "string" && key));
  } catch {
    return {};
  }
}

// an action that fails says so
export function run(action) {
  Promise.resolve(action()).catch((error) => say(error.message));
}

export class Keys {
  constructor(actions) {
    this.actions = actions;
    this.own = kept();
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  keyOf(name) {
    return this.own[name] ?? WORDS[name][0];
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const name = Object.keys(WORDS).find((one) => this.keyOf(one) === event.key);
    if (name === undefined || this.actions[name] === undefined) return;
    event.preventDefault();
    run(this.actions[name]);
  }

  list(place) {
    const rows = Object.keys(WORDS).filter((name) => this.actions[name] !== undefined).map((name) => {
      const button = element("button", { type: "button", class: "plain", "aria-label": `change the key of: ${WORDS[name][1]}` }, "change");
      const key = element("kbd", {}, this.keyOf(name));
      button.addEventListener("click", () => this.change(name, button, key));
      return element("tr", {}, element("td", {}, key), element("td", {}, WORDS[name][1]), element("td", {}, button));
    });
    const usual = () => {
      this.own = {};
      localStorage.removeItem(KEPT);
      this.list(place);
    };
    const back = element("button", { type: "button", class: "plain", onclick: usual }, "Back to the usual keys");
    place.replaceChildren(element("table", { class: "keys" }, element("tbody", {}, ...rows)), back);
  }

  change(name, button, key) {
    button.textContent = "press a key";
    const take = (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (event.repeat || ["Shift", "Control", "Alt", "AltGraph", "Meta"].includes(event.key)) return;
      document.removeEventListener("keydown", take, true);
      button.textContent = "change";
      if (event.key === "Escape") return;
      if (TAKEN.includes(event.key)) {
        say("That key presses buttons and moves; take another one.");
        return;
      }
      const other = Object.keys(WORDS).find((one) => one !== name && this.keyOf(one) === event.key);
      if (other !== undefined) {
        say(`${event.key} is the key of: ${WORDS[other][1]}`);
        return;
      }
      this.own[name] = event.key;
      localStorage.setItem(KEPT, JSON.stringify(this.own));
      key.textContent = event.key;
    };
    document.addEventListener("keydown", take, true);
  }
}
