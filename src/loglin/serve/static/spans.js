// A sentence as boxes: tokens in their text, spans around them.
import { element, hue, percent } from "./dom.js";

// `box(t)` makes the box of token t; blanks between tokens stay as they are in the text.
export function sentence(text, places, spans, types, box) {
  const parts = [], starts = new Map(spans.map((span) => [span.start, span]));
  const between = (from, to) => (from < to ? document.createTextNode(text.slice(from, to)) : null);
  let end = 0;
  for (let t = 0; t < places.length; ) {
    const span = starts.get(t), last = span ? span.stop - 1 : t;
    const gap = between(end, places[t][0]);
    if (gap) parts.push(gap);
    if (!span) parts.push(box(t));
    else {
      const inside = [];
      for (let i = t; i <= last; i++) {
        if (i > t) inside.push(between(places[i - 1][1], places[i][0]));
        inside.push(box(i));
      }
      const sure = span.probability === undefined ? "" : ` ${percent(span.probability)}`;
      parts.push(
        element("span", { class: `span ${span.decided === false ? "undecided" : ""}`, style: { "--hue": hue(types, span.type) } },
          ...inside, element("span", { class: "type", "aria-hidden": "true" }, span.type + sure)),
      );
    }
    end = places[last][1];
    t = last + 1;
  }
  const rest = between(end, text.length);
  if (rest) parts.push(rest);
  return parts;
}
