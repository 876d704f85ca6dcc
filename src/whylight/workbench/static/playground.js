import { ask, element, say } from "./api.js";
import { TextView } from "./text.js";

const form = document.getElementById("playground");
const method = document.getElementById("method");

function settings() {
  for (const one of form.querySelectorAll(".settings")) one.hidden = one.dataset.method !== method.value;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const own = form.querySelector(`.settings[data-method="${CSS.escape(method.value)}"]`);
  const given = Object.fromEntries([...own.querySelectorAll("input")].filter((one) => one.value).map((one) => [one.name, one.value]));
  say("Asking the model …");
  try {
    const found = await ask("/api/playground", {
      text: form.elements.text.value, method: method.value, label: form.elements.label.value || null, settings: given,
    });
    const place = document.getElementById("answer-text");
    place.replaceChildren();
    const view = new TextView(place, [found.text]);
    view.paint("evidence", found.for);
    view.paint("counter", found.against);
    document.getElementById("answer-title").textContent = `${found.label}: ${(100 * found.probability).toFixed(1)} %`;
    document.getElementById("answer-notes").replaceChildren(
      ...found.words.map(([word, score]) => element("span", { class: "badge" }, `${word} ${score >= 0 ? "+" : ""}${score.toFixed(2)}`)));
    document.getElementById("answer").hidden = false;
    say("");
  } catch (error) {
    say(error.message);
  }
});
method.addEventListener("change", settings);
settings();
