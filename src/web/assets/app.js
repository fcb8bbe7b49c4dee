// Starts the page. It holds no rule and no state: every view comes from the server.
import { $ } from "./dom.js";
import { door, send } from "./act.js";
import { ages } from "./ages.js";
import { travel } from "./dots.js";
import { key, palette } from "./keys.js";
import { live } from "./live.js";

function theme() {
  const root = document.documentElement;
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (isDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("postroom-theme", root.dataset.theme);
  } catch {
    // It holds until the page is left.
  }
}

if ($("#enter")) {
  door($("#enter"));
} else {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.deed === undefined) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("keydown", key);
  document.addEventListener("change", (event) => {
    if (event.target.dataset?.go !== undefined) event.target.form.requestSubmit();
  });
  $("#find").onclick = palette;
  $("#theme").onclick = theme;
  $(".menu [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  $(".rooms").addEventListener("focusout", ({ currentTarget, relatedTarget }) => {
    if (relatedTarget && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
  });
  document.addEventListener("postroom:line", travel);
  setInterval(ages, 5000);
  ages();
  live();
}

document.documentElement.dataset.ready = "";
if (globalThis.sentEarly) globalThis.sentEarly.target.requestSubmit(globalThis.sentEarly.submitter);
