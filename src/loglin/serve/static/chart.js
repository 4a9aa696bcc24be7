// A line chart of a few points, readable without color and by screen readers.
import { drawn } from "./dom.js";

const WIDTH = 420, HEIGHT = 170, LEFT = 44, BOTTOM = 26, TOP = 10, RIGHT = 10;

export function chart(points, { title, across, format = (y) => y.toFixed(2), low, high }) {
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  let [y0, y1] = [low ?? Math.min(...ys), high ?? Math.max(...ys)];
  if (y0 === y1) [y0, y1] = [y0 - 0.5, y1 + 0.5];
  const x = (v) => LEFT + ((v - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (v) => HEIGHT - BOTTOM - ((v - y0) / (y1 - y0)) * (HEIGHT - BOTTOM - TOP);
  const last = points[points.length - 1];
  const said = `${title}: from ${format(ys[0])} to ${format(last[1])} at ${last[0]} ${across}`;
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said, class: "chart" });
  for (const v of [y0, (y0 + y1) / 2, y1]) {
    svg.append(
      drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v), stroke: "var(--line)" }),
      drawn("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, format(v)),
    );
  }
  svg.append(
    drawn("text", { x: LEFT, y: HEIGHT - 8 }, String(x0)),
    drawn("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, `${x1} ${across}`),
    drawn("polyline", {
      points: points.map((p) => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" "),
      fill: "none", stroke: "var(--accent)", "stroke-width": 2,
    }),
    drawn("circle", { cx: x(last[0]), cy: y(last[1]), r: 3, fill: "var(--accent)" }),
  );
  return svg;
}
