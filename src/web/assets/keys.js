// Keys, and the palette: every link of the menu, every room and every mailbox.
import { $, $$, base } from "./dom.js";

let first = "";
export function key(event) {
  if (event.ctrlKey && event.key.toLowerCase() === "k" || event.metaKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return palette();
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return shut();
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.nodeName) || $("dialog[open]")) return;
  const pressed = first ? `${first} ${event.key}` : event.key;
  first = event.key === "g" && !first ? "g" : "";
  const link = $(`[data-key="${CSS.escape(pressed)}"]`);
  if (link) {
    event.preventDefault();
    link.click();
    // A place on this page is where the next keys go.
    if (link.getAttribute("href").startsWith("#")) $(link.hash)?.focus();
    return;
  }
  if (pressed === "j" || pressed === "k") return step(pressed === "j" ? 1 : -1);
  // What has the focus takes Enter itself.
  if (pressed === "Enter") return event.target.closest("a, button, summary") || $("[data-row].here a[href]")?.click();
  if (pressed === "/") {
    event.preventDefault();
    return location.assign(`${base}/search`);
  }
  if (pressed === "c") return location.assign(`${base}/compose`);
  if (pressed === "?") $("#keys").showModal();
}

// Closes the menu of rooms, and leaves the focus where it was opened.
function shut() {
  const menu = $(".rooms[open]");
  if (!menu) return;
  menu.open = false;
  $("summary", menu).focus();
}

function step(by) {
  const rows = $$("[data-row]");
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("here"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  rows[at]?.classList.remove("here");
  next.classList.add("here");
  next.scrollIntoView({ block: "nearest" });
  $("a[href]", next)?.focus({ preventScroll: true });
}

export async function palette() {
  const box = $("#palette"), input = $("input", box), list = $("ul", box), none = $("p", box);
  const places = await found();
  let at = 0;
  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = places.filter(([name, kind]) => words.every((word) => `${name} ${kind}`.toLowerCase().includes(word))).slice(0, 40);
    at = Math.min(at, Math.max(0, fits.length - 1));
    list.replaceChildren(...fits.map(([name, kind, to], index) => {
      const row = document.createElement("li"), small = document.createElement("small");
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(index === at));
      row.append(name, small);
      small.textContent = kind;
      row.onclick = () => location.assign(to);
      return row;
    }));
    none.hidden = fits.length > 0;
    $('[aria-selected="true"]', list)?.scrollIntoView({ block: "nearest" });
  };
  input.value = "";
  input.oninput = () => {
    at = 0;
    draw();
  };
  input.onkeydown = (event) => {
    if (event.key === "ArrowDown") at += 1;
    else if (event.key === "ArrowUp") at = Math.max(0, at - 1);
    else if (event.key === "Enter") return $('[aria-selected="true"]', list)?.click();
    else return;
    event.preventDefault();
    draw();
  };
  box.onclick = (event) => event.target === box && box.close();
  box.showModal();
  draw();
}

async function found() {
  const links = $$(".menu a").map((link) => [link.textContent, "view", link.href]);
  const rooms = $$(".rooms a").map((link) => [link.textContent, "room", link.href]);
  const own = [["Write a message", "command", `${base}/compose`], ["Search mail", "command", `${base}/search`]];
  boxes ??= await mailboxes();
  const missing = [["The mailboxes could not be loaded", "fault", `${base}/mail`]];
  return [...own, ...links, ...(boxes ?? missing), ...rooms];
}

// Nothing, if they could not be fetched: then the next look asks again.
let boxes;
async function mailboxes() {
  const reply = await fetch(`${base}/mail`).catch(() => undefined);
  if (!reply?.ok) return undefined;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  return $$("[data-mailbox]", page).map((link) => [link.dataset.mailbox, "mailbox", link.getAttribute("href")]);
}
