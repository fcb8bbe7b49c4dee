// Makes one tree like another, and touches only what differs, so that focus, scroll, selection and open parts stay. Rows that
// may come before others need an id: what a person has ticked or typed belongs to its row.
export function morph(old, next) {
  // The browser compares far faster than this walk, and most of a view stays as it is.
  if (old.isEqualNode(next)) return;
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return old.replaceWith(next);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (old.dataset?.kept !== undefined || old === document.activeElement && /^(INPUT|TEXTAREA|SELECT)$/.test(old.nodeName)) return;
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of [...next.attributes]) {
    if (old.getAttribute(name) !== value && !(name === "class" && old.classList.contains("here"))) old.setAttribute(name, value);
  }
  if (/^(INPUT|TEXTAREA)$/.test(old.nodeName)) return;
  const keyed = new Map([...old.children].filter((node) => node.id).map((node) => [node.id, node]));
  let at = old.firstChild;
  for (const node of [...next.childNodes]) {
    const same = node.id ? keyed.get(node.id) : at && !at.id && at.nodeName === node.nodeName ? at : null;
    if (same) {
      if (same !== at) old.insertBefore(same, at);
      else at = at.nextSibling;
      morph(same, node);
    } else {
      old.insertBefore(node, at);
      if (node.nodeType === Node.ELEMENT_NODE && node.matches("[data-row], .card")) node.classList.add("fresh");
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
