// Progress of the job that looks at documents: followed only while it runs.
import "./api.js";

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

for (const select of document.querySelectorAll(".filters select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}
