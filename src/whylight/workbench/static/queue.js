// Progress of the job that looks at documents: followed only while it runs.
import { ask, element, say } from "./api.js";

const line = document.getElementById("job");

function show(progress) {
  const failed = progress.failed ? `, ${progress.failed} could not be explained (${progress.reason})` : "";
  line.textContent = progress.running
    ? `Looking at documents: ${progress.done} of ${progress.total}${failed}`
    : `${progress.done} documents were looked at${failed}. Load the page again to sort them.`;
}

if (line?.dataset.running === "yes") {
  const source = new EventSource("/api/progress");
  source.addEventListener("message", (event) => {
    const progress = JSON.parse(event.data);
    show(progress);
    if (!progress.running) source.close();
  });
  source.addEventListener("error", () => source.close());
  addEventListener("pagehide", () => source.close());
}

document.getElementById("again")?.addEventListener("click", async () => {
  await ask("/api/job", {}).catch((error) => say(error.message));
  location.reload();
});

// what was done again and again, and could be done elsewhere
const hint = document.getElementById("suggestions");
ask("/api/suggestions").then((found) => {
  if (!found.length) return;
  const [{ kind, wording, label, times, places }, ...others] = found;
  const what = { mark: "marked", unmark: "refused", correct: "corrected" }[kind];
  const more = others.length ? ` There are ${others.length} more such.` : "";
  hint.replaceChildren(
    `You ${what} “${wording}” for ${label} in ${times} documents. `,
    element("a", { href: "/suggestions" }, `Do the same in ${places} more place${places === 1 ? "" : "s"}?`),
    more,
  );
  hint.hidden = false;
}).catch(() => {});

for (const select of document.querySelectorAll(".filters select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}
