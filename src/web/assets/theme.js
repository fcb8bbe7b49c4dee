// Before the first paint, so that nothing flashes, and nothing that is sent before the page is ready gets lost.
"use strict";
try {
  const theme = localStorage.getItem("postroom-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme is used.
}

// A form that is sent before app.js listens would load the page again, without what was written. It is sent when app.js is ready.
addEventListener("submit", (event) => {
  if (document.documentElement.dataset.ready !== undefined) return;
  event.preventDefault();
  globalThis.sentEarly = event;
}, true);
