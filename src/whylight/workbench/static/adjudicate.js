// Deciding what reviewers see differently: a decision and its evidence are events of the adjudication. The decision
// comes last, so that whatever ends half-way (the server, the page) leaves a label that still waits.
import { ask, Refused, say } from "./api.js";

const place = document.getElementById("adjudication");
const path = `/api/documents/${place.dataset.document}`;
let version = Number(place.dataset.version);

async function add(event) {
  const state = await ask(`${path}/adjudication`, { version, ...event });
  version = state.version;
}

for (const button of place.querySelectorAll("button[data-label]")) {
  button.addEventListener("click", async () => {
    const { label, decision, spans } = button.dataset;
    try {
      const { parts } = await ask(path);
      await add({ kind: "clear", label });
      for (const span of decision === "accept" ? JSON.parse(spans) : []) {
        const text = [...parts[span.part]].slice(span.start, span.end).join("");
        await add({ kind: "mark", label, span: { ...span, text } });
      }
      await add({ kind: decision, label });
      location.reload();
    } catch (error) {
      say(error instanceof Refused && error.code === 409 ? "Somebody else has decided in between; load the page again." : error.message);
    }
  });
}
