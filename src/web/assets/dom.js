// What every other script of the page needs.
export const $ = (selector, from = document) => from.querySelector(selector);
export const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
export const base = `/r/${encodeURIComponent(document.body.dataset.room || "-")}`;

// What acts needs more than the cookie, which other servers on this host name would see: a token that only this origin has.
// It is read anew each time: another tab may have entered again.
const KEY = "postroom-token";
export function token() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    // Without storage the page shows, and does not act.
    return "";
  }
}

export function keep(token) {
  try {
    localStorage.setItem(KEY, token);
  } catch {
    // As above.
  }
}

let fading;
export function toast(text, bad) {
  const box = $("#toast");
  box.textContent = text;
  box.className = `toast shown${bad ? " bad" : ""}`;
  clearTimeout(fading);
  fading = setTimeout(() => (box.className = "toast"), bad ? 8000 : 4000);
}
