// Ages of times, as the server writes them (src/span.rs): 5s, 3m, 47h, 4d.
import { $$ } from "./dom.js";

function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  for (const [unit, size, from] of [["d", 86400, 172800], ["h", 3600, 3600], ["m", 60, 60]]) {
    if (whole >= from) return `${Math.floor(whole / size)}${unit}`;
  }
  return `${whole}s`;
}

export function ages() {
  for (const time of $$("time[datetime]")) {
    const past = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const text = past < 0 ? `in ${age(-past)}` : age(past) + (time.dataset.after ?? "");
    if (time.textContent !== text) time.textContent = text;
  }
}
