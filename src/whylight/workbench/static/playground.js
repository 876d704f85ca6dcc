// A text of one's own: what is predicted, one label at a time, with its evidence and the words that count most.
import { ask, element, percent, say } from "./api.js";
import { TextView } from "./text.js";

const MOST = 12; // words that are listed
const form = document.getElementById("playground");
const method = document.getElementById("method");

function settings() {
  for (const one of form.querySelectorAll(".settings")) one.hidden = one.dataset.method !== method.value;
}

function show(found, chosen) {
  const place = document.getElementById("answer-text");
  place.replaceChildren();
  const view = new TextView(place, [found.text]);
  view.paint("evidence", chosen.for);
  view.paint("counter", chosen.against);
  document.getElementById("answer-labels").replaceChildren(...found.answers.map((one) => element(
    "button",
    { type: "button", class: "chip", "aria-pressed": String(one === chosen), onclick: () => show(found, one) },
    `${one.label} ${percent(one.probability)}`,
  )));
  document.getElementById("answer-title").textContent = [chosen.label, chosen.description].filter(Boolean).join(" ");
  const counting = chosen.words.filter(([, score]) => Math.abs(score) >= 0.005);
  const most = counting.sort(([, one], [, other]) => Math.abs(other) - Math.abs(one)).slice(0, MOST);
  document.getElementById("answer-words").replaceChildren(...most.map(([word, score]) =>
    element("span", { class: "badge", dir: "auto" }, `${word} ${score >= 0 ? "+" : "−"}${Math.abs(score).toFixed(2)}`)));
  document.getElementById("answer-notes").replaceChildren(...chosen.receipt.notes.map((one) => element("p", {}, one)));
  document.getElementById("answer").hidden = false;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const own = form.querySelector(`.settings[data-method="${CSS.escape(method.value)}"]`);
  const given = own ? Object.fromEntries([...own.querySelectorAll("input")].filter((one) => one.value).map((one) => [one.name, one.value])) : {};
  say("Asking the model …");
  try {
    const found = await ask("/api/playground", {
      text: form.elements.text.value, method: method.value, label: form.elements.label.value || null, settings: given,
    });
    show(found, found.answers[0]);
    say("");
  } catch (error) {
    say(error.message);
  }
});
method.addEventListener("change", settings);
settings();
