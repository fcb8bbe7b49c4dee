// A dot travels along an edge of the graph when a message is delivered.
import { $, $$ } from "./dom.js";

const TRAVEL = 900;

export function travel({ detail: { event, by, to } }) {
  const dots = $("#dots");
  if (!dots || event !== "sent" || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const edge = $$(".edges path", dots.ownerSVGElement).find(({ dataset }) => dataset.from.split(" ").includes(by) && dataset.to.split(" ").includes(to));
  if (!edge) return;
  const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  dot.setAttribute("r", "7");
  dot.setAttribute("class", "dot");
  dots.append(dot);
  const length = edge.getTotalLength(), start = performance.now();
  const move = (now) => {
    const part = Math.min(1, Math.max(0, (now - start) / TRAVEL));
    const { x, y } = edge.getPointAtLength(length * part);
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y);
    if (part < 1) requestAnimationFrame(move);
    else dot.remove();
  };
  requestAnimationFrame(move);
}
