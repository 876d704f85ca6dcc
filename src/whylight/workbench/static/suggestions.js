// Following suggestions: each is an ordinary event of the reviewer's own stream, and is taken back by an undo.
import { ask, Refused, say } from "./api.js";

const versions = new Map(); // of the streams that this page has added to
const version = (button) => versions.get(button.dataset.document) ?? Number(button.dataset.version);

async function add(button, event) {
  try {
    const state = await ask(`/api/documents/${button.dataset.document}/events`, { version: version(button), ...event });
    versions.set(button.dataset.document, state.version);
    return state.version;
  } catch (error) {
    button.disabled = true;
    button.textContent = error instanceof Refused && error.code === 409 ? "Changed meanwhile: look there" : "Not saved";
    say(error.message);
    return null;
  }
}

async function follow(button) {
  const now = await add(button, JSON.parse(button.dataset.event));
  if (now === null) return false;
  button.dataset.done = now;
  button.textContent = "Take back";
  return true;
}

// the last action of that document is taken back, which must still be this one
async function takeBack(button) {
  if (version(button) !== Number(button.dataset.done)) {
    say("Something else was done in that document since; undo it there.");
    return;
  }
  if (await add(button, { kind: "undo" }) === null) return;
  delete button.dataset.done;
  button.textContent = "Do the same";
}

for (const button of document.querySelectorAll("button[data-event]")) {
  button.addEventListener("click", () => (button.dataset.done ? takeBack(button) : follow(button)));
}
for (const all of document.querySelectorAll("button[data-all]")) {
  all.addEventListener("click", async () => {
    all.disabled = true;
    let done = 0;
    for (const button of all.closest("section").querySelectorAll("button[data-event]:not([data-done], [disabled])")) {
      if (await follow(button)) done += 1;
    }
    say(`${done} done and saved.`);
  });
}
