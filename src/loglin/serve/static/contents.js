// What is in a model: strongest features by label, transitions, how it was trained.
import { chart } from "./chart.js";
import { byId, element } from "./dom.js";

export function showContents(contents) {
  showFeatures(contents.weights ?? {});
  showTransitions(contents.transitions);
  const points = (contents.curve ?? []).map((p) => [p.number, p.value]);
  byId("curve").replaceChildren(...(points.length > 1
    ? [chart(points, { title: "objective", across: "iterations", format: (y) => Math.round(y).toLocaleString("en") })]
    : [element("p", { class: "soft" }, "There are no iterations to draw.")]));
  byId("record").replaceChildren(element("table", {}, ...contents.about.map(([name, value]) =>
    element("tr", {}, element("th", {}, name), element("td", {}, String(value))))));
}

function showFeatures(weights) {
  const labels = Object.keys(weights);
  byId("labels-chooser").hidden = labels.length < 2;
  byId("label").replaceChildren(...labels.map((y) => element("option", {}, y)));
  const show = () => {
    const sides = weights[byId("label").value || labels[0]];
    byId("features").replaceChildren(...(sides ? [side("for it", sides.positive), side("against it", sides.negative)] : [element("p", { class: "soft" }, "No weights of labels.")]));
  };
  byId("label").onchange = show;
  show();
}

function side(title, features) {
  const most = Math.max(1e-9, ...features.map(([, w]) => Math.abs(w)));
  return element("table", { class: "bars" }, element("caption", { class: "soft" }, title), ...features.map(([name, w]) => element("tr", {},
    element("td", {}, name), element("td", {}, element("span", { class: w < 0 ? "bar against" : "bar", style: { width: `${(6 * Math.abs(w)) / most}rem` } }), ` ${w.toFixed(2)}`))));
}

function showTransitions(transitions) {
  byId("steps").hidden = !transitions;
  if (!transitions) return;
  const { labels, weights } = transitions, known = weights.flat().filter((w) => w !== null);
  const most = Math.max(1e-9, ...known.map(Math.abs));
  const cell = (w, from, to) => {
    if (w === null) return element("td", { class: "none", title: `${from} → ${to}: no weight` }, "·");
    const share = Math.abs(w) / most, color = w > 0 ? `hsl(212 80% ${96 - 46 * share}%)` : `hsl(8 75% ${96 - 42 * share}%)`;
    return element("td", { title: `${from} → ${to}: ${w.toFixed(3)}`, style: { background: color } }, w.toFixed(1));
  };
  byId("heat").replaceChildren(element("table", { class: "heat" },
    element("thead", {}, element("tr", {}, element("td", { class: "none" }), ...labels.map((y) => element("th", { scope: "col" }, y)))),
    element("tbody", {}, ...weights.map((row, i) => element("tr", {}, element("th", { scope: "row" }, labels[i]), ...row.map((w, j) => cell(w, labels[i], labels[j]))))),
  ));
}
