// Talking to the server: JSON both ways, with the token of this page; what goes wrong is said once, in words.

const token = document.querySelector('meta[name="whylight-token"]').content;
const SMALL = 15_000; // browsers send 64 KiB for a page that was left, and a character has up to four bytes
const said = document.getElementById("said");

export class Refused extends Error {
  constructor(code, detail, body) {
    super(detail);
    this.code = code;
    this.body = body;
  }
}

export async function ask(path, body) {
  const told = body === undefined ? "" : JSON.stringify(body);
  const given = body === undefined ? {} : {
    method: "POST",
    body: told,
    keepalive: body.kind !== undefined && told.length < SMALL, // an action is still sent when the page is left
    headers: { "content-type": "application/json", "x-whylight-token": token },
  };
  const answer = await fetch(path, { credentials: "same-origin", ...given });
  const found = await answer.json().catch(() => ({ detail: answer.statusText }));
  if (!answer.ok) throw new Refused(answer.status, found.detail ?? "the server refused", found);
  return found;
}

// a probability; one that is nearly certain does not read as certain
export function percent(value) {
  if (value > 0.9995 && value < 1) return "> 99.9 %";
  return value > 0 && value < 0.0005 ? "< 0.1 %" : `${(100 * value).toFixed(1)} %`;
}

let fading;

export function say(sentence) {
  clearTimeout(fading);
  said.textContent = sentence;
  fading = setTimeout(() => { said.textContent = ""; }, 6000);
}

export function element(name, given = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(made.dataset, value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...inside.filter((one) => one !== null && one !== undefined));
  return made;
}

document.getElementById("sign-out")?.addEventListener("click", async () => {
  await ask("/api/sign-out", {});
  location.href = "/sign-in";
});
