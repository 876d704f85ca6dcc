import { ask } from "./api.js";

const form = document.getElementById("sign-in");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(form));
  try {
    await ask("/api/sign-in", given);
    location.href = "/";
  } catch (error) {
    document.getElementById("wrong").textContent = error.message;
  }
});
form.elements.name.focus();
