// How a model did on labelled text: scores, confusion between types, and the mistakes worth reading.
import { byId, element, percent } from "./dom.js";

export function showEvaluation(found, contents, choose) {
  byId("evaluation").hidden = false;
  byId("scores").textContent = `${found.file}: ${found.unit === "phrase" ? `F1 ${percent(found.f1)}, precision ${percent(found.precision)}, recall ${percent(found.recall)}, ` : ""}` +
    `${percent(found.accuracy)} of ${found.tokens.toLocaleString("en")} tokens and ${percent(found.sentence_accuracy)} of ${found.sentences.toLocaleString("en")} sentences are right.`;
  const { rows, columns, counts } = found.confusion, most = Math.max(1, ...counts.flatMap((row, i) => row.filter((_, j) => rows[i] !== columns[j])));
  byId("confusion").replaceChildren(element("table", { class: "heat" },
    element("caption", { class: "soft" }, "rows: what is right; columns: what was said"),
    element("thead", {}, element("tr", {}, element("td", { class: "none" }), ...columns.map((y) => element("th", { scope: "col" }, y)))),
    element("tbody", {}, ...counts.map((row, i) => element("tr", {}, element("th", { scope: "row" }, rows[i]), ...row.map((n, j) => {
      if (!n) return element("td", { class: "none" }, "·");
      const right = rows[i] === columns[j], color = right ? "hsl(150 45% 82%)" : `hsl(8 75% ${95 - 40 * (n / most)}%)`;
      return element("td", { style: { background: color } }, String(n));
    })))),
  ));
  byId("types").replaceChildren(...(found.types.length ? [element("table", {}, element("thead", {}, element("tr", {}, ...["", "precision", "recall", "F1", "right"].map((y) => element("th", {}, y)))),
    ...found.types.map((t) => element("tr", {}, element("th", {}, t.type), ...[t.precision, t.recall, t.f1].map((v) => element("td", { class: "number" }, percent(v))), element("td", { class: "number" }, String(t.gold)))))] : []));
  byId("mistakes").replaceChildren(...found.mistakes.map((one) => element("li", {}, mistake(one, choose))));
}

function mistake(one, choose) {
  const line = [element("small", {}, `… ${one.before} `), element("strong", {}, one.text), element("small", {}, ` ${one.after} … `),
    `${one.said}, `, element("span", { class: "right" }, `right: ${one.right}`), ` · ${percent(one.confidence)}`];
  const shown = choose && one.example !== null;
  return shown ? element("button", { type: "button", onclick: () => { choose(one.example); byId("try-title").scrollIntoView(); } }, ...line) : element("span", {}, ...line);
}
