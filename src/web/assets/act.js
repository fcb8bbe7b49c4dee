// What the person does: the code that lets a browser in, and every form with `data-deed`, which is sent as JSON.
import { $, $$, base, keep, toast, token } from "./dom.js";
import { refresh } from "./live.js";

// The code is behind the #, which no server and no log ever sees.
async function enter(code) {
  const reply = await fetch("/enter", {
    method: "POST",
    headers: { "content-type": "application/json", "x-postroom": "enter" },
    body: JSON.stringify({ code }),
  });
  if (!reply.ok) {
    $("#said").textContent = (await reply.text()).trim();
    return;
  }
  keep((await reply.json()).token);
  // A view that asked for the code is where the person wanted to go.
  if (location.pathname === "/enter") location.replace("/");
  else location.reload();
}

export function door(form) {
  const code = location.hash.slice(1);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enter($("#code").value.trim());
  });
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  enter(code);
}

// What the server said: its words, as JSON or as plain text.
async function said(reply) {
  const text = await reply.text();
  try {
    return JSON.parse(text);
  } catch {
    return { said: text.trim() || `the server answered ${reply.status}` };
  }
}

export async function send(form, button) {
  if (form.dataset.sure && !confirm(form.dataset.sure)) return;
  const values = {};
  for (const [name, value] of new FormData(form, button)) {
    if (name.endsWith("[]")) (values[name.slice(0, -2)] ??= []).push(value);
    else values[name] = value;
  }
  const buttons = $$("button", form);
  buttons.forEach((one) => (one.disabled = true));
  try {
    const deed = form.dataset.deed;
    const reply = await fetch(deed.startsWith("/") ? deed : `${base}/${deed}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-postroom": token() },
      body: JSON.stringify(values),
    });
    const done = await said(reply);
    toast(done.said, !reply.ok);
    if (!reply.ok) return;
    if (document.activeElement && form.contains(document.activeElement)) document.activeElement.blur();
    if (form.dataset.clear !== undefined) form.reset();
    if (done.next) location.assign(done.next);
    else refresh();
  } catch {
    toast("the server cannot be reached", true);
  } finally {
    buttons.forEach((one) => (one.disabled = false));
  }
}
