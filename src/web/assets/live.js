// What happens on the server: a stream of events while somebody sees the page, and the view again when something changed.
import { $, base } from "./dom.js";
import { ages } from "./ages.js";
import { morph } from "./morph.js";

let stream, waiting, place = document.body.dataset.place, isBehind = false, wanted = false, loading = false, tries = 0;

// A line can be dead without a word: then not even the beat of the server comes, which it gives every ten seconds.
const SILENCE = 35_000;
let heard = 0;
const hear = () => (heard = performance.now());

function lost() {
  $("#link").className = "link lost";
  $("#link").textContent = "reconnecting";
}

function follow() {
  const after = place ? `?after=${encodeURIComponent(place)}` : "";
  const here = (stream = new EventSource(`${base}/events${after}`));
  here.onopen = () => {
    hear();
    tries = 0;
    $("#link").className = "link";
    $("#link").textContent = "live";
  };
  for (const name of ["beat", "feed", "changed", "reload"]) here.addEventListener(name, hear);
  here.onerror = () => {
    lost();
    // The browser tries again by itself, unless the server refused: the view says why.
    if (here.readyState !== EventSource.CLOSED || here !== stream) return;
    load();
    waiting = setTimeout(again, Math.min(10_000, 1000 * 2 ** tries++));
  };
  here.addEventListener("feed", (event) => {
    place = event.lastEventId;
    for (const line of JSON.parse(event.data)) show(line);
  });
  here.addEventListener("changed", refresh);
  here.addEventListener("reload", (event) => {
    place = event.lastEventId;
    // The feed misses too much to be kept.
    isBehind = true;
    refresh();
  });
}

function leave() {
  clearTimeout(waiting);
  stream?.close();
}

function again() {
  leave();
  follow();
}

function goOn(from) {
  place = from;
  isBehind = false;
  if (document.visibilityState !== "hidden") again();
}

// A browser has six connections for all tabs of a server, and each stream takes one. So only tabs that are seen have a stream;
// the server tells a tab that comes back what it missed, and that it has to look again.
export function live() {
  const look = () => (document.visibilityState === "hidden" ? leave() : again());
  document.addEventListener("visibilitychange", look);
  // A page that comes back from the browser's memory has no stream any more.
  addEventListener("pageshow", (event) => event.persisted && look());
  addEventListener("pagehide", leave);
  setInterval(() => {
    if (stream?.readyState !== EventSource.OPEN || performance.now() - heard < SILENCE) return;
    lost();
    again();
  }, 5000);
  look();
}

function show(line) {
  const list = $("#feed");
  if (list) {
    list.insertAdjacentHTML("afterbegin", line.html);
    list.firstElementChild.classList.add("fresh");
    while (list.children.length > 60) list.lastElementChild.remove();
    list.dataset.kept = "";
    ages();
  }
  document.dispatchEvent(new CustomEvent("postroom:line", { detail: line }));
}

// Asks for the view again: at once, then not more often than every 250 ms, and never while the last answer is on its way.
export function refresh() {
  if (loading) wanted = true;
  else load();
}

async function load() {
  loading = true;
  try {
    const reply = await fetch(location.href, { headers: { accept: "text/html" } });
    // The server was started again, or the session has ended: the same address asks for the code.
    if (reply.status === 401) return location.reload();
    const next = new DOMParser().parseFromString(await reply.text(), "text/html");
    if ($("#main", next)) {
      const isNewFeed = $("#feed", next) && (isBehind || !$("#feed"));
      if (isNewFeed) delete $("#feed")?.dataset.kept;
      morph($("#main"), $("#main", next));
      document.title = next.title;
      // The stream goes on behind the lines of a new feed: some that came meanwhile are in it, and others are not.
      if (isNewFeed) goOn(next.body.dataset.place);
    }
    ages();
  } catch {
    // The stream says that the connection is lost.
  } finally {
    setTimeout(() => {
      loading = false;
      if (wanted) {
        wanted = false;
        refresh();
      }
    }, 250);
  }
}
