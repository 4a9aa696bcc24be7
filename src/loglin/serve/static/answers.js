// What a model says of one text: spans, why a token got its label, other readings, a tree, next words.
import { byId, element, percent } from "./dom.js";
import { sentence } from "./spans.js";
import { tree } from "./tree.js";
import { typesOf } from "./types.js";

const FEATURES = 14; // of a token

// `explain(position)` gives the votes of a token, now or later.
export function showAnswer(found, about, explain) {
  byId("why").replaceChildren();
  byId("others").replaceChildren();
  byId("hint").textContent = "";
  if (found.labels && found.tokens) showTagged(found, about, explain);
  else if (found.tree !== undefined) showTree(found);
  else if (found.next) showNext(found);
  else if (found.votes !== undefined || found.label !== undefined) showClass(found);
  else byId("answer").replaceChildren();
}

function showTagged(found, about, explain) {
  const types = typesOf(about.labels), entities = found.entities ?? [];
  const places = found.places ?? placesOf(found.tokens), text = found.places ? found.text : found.tokens.join(" ");
  const spans = entities.map(({ start, stop, type, probability }) => ({ start, stop, type, probability }));
  const plain = entities.length === 0 && !about.labels.includes("O");
  const boxes = sentence(text, places, spans, types, (t) => {
    const sure = certainty(found, t), said = `${found.tokens[t]}, ${found.labels[t]}${sure === null ? "" : `, ${percent(sure)}`}`;
    return element("button", { type: "button", class: "token", "data-token": t, "aria-pressed": "false", "aria-label": `${said}; why?`, onclick: () => choose(t) },
      text.slice(...places[t]), plain ? element("span", { class: "label" }, String(found.labels[t])) : null);
  });
  byId("answer").replaceChildren(...boxes);
  byId("hint").textContent = found.tokens.length ? "Choose a token to see why it has its label." : "";
  showReadings(found);
  async function choose(t) {
    for (const one of byId("answer").querySelectorAll("[data-token]")) one.setAttribute("aria-pressed", String(Number(one.dataset.token) === t));
    const explanation = await explain(t);
    if (explanation) showWhy(explanation);
  }
}

const certainty = (found, t) => found.marginals?.[t]?.[found.labels[t]] ?? found.certainty?.[t] ?? null;

// Places of tokens that are not in a text: one blank between them.
function placesOf(tokens) {
  let begin = 0;
  return tokens.map((token) => {
    const word = Array.isArray(token) ? token[0] : String(token), place = [begin, begin + word.length];
    begin += word.length + 1;
    return place;
  });
}

// The votes for the two best labels as bars, with the labels before and after.
function showWhy(why) {
  const ranked = Object.keys(why.probabilities).sort((a, b) => why.probabilities[b] - why.probabilities[a]);
  const best = [String(why.label), ...ranked.filter((y) => y !== String(why.label))].slice(0, 2);
  const rows = why.votes.map((vote) => [vote.feature, best.map((y) => vote.votes[y] ?? 0)]);
  const steps = [["label before", why.transitions], ["label after", why.following]]
    .filter(([, weights]) => Object.keys(weights).length).map(([name, weights]) => [name, best.map((y) => weights[y] ?? 0)]);
  const strength = ([, cells]) => Math.max(...cells.map(Math.abs));
  const shown = [...steps, ...rows.sort((a, b) => strength(b) - strength(a)).slice(0, FEATURES)];
  const most = Math.max(1e-9, ...shown.map(strength));
  const rest = rows.length + steps.length - shown.length;
  byId("why").replaceChildren(
    element("h2", {}, `Why “${why.token}” is ${why.label}`),
    element("table", { class: "bars" },
      element("thead", {}, element("tr", {}, element("th", {}, "what votes"), ...best.map((y) => element("th", {}, `${y} ${percent(why.probabilities[y] ?? 0)}`)))),
      element("tbody", {}, ...shown.map(([name, cells]) => element("tr", {}, element("td", {}, name), ...cells.map((w) => bar(w, most))))),
    ),
    element("p", { class: "soft" }, rest > 0 ? `and ${rest} weaker` : ""),
  );
}

function bar(weight, most) {
  return element("td", {},
    element("span", { class: weight < 0 ? "bar against" : "bar", style: { width: `${(5 * Math.abs(weight)) / most}rem` } }),
    ` ${weight > 0 ? "+" : weight < 0 ? "−" : ""}${Math.abs(weight).toFixed(2)}`);
}

function showReadings(found) {
  if (!found.nbest?.length) return;
  byId("others").replaceChildren(
    element("h2", {}, "Readings"),
    element("ol", {}, ...found.nbest.map((one, i) => element("li", {}, `${percent(one.probability)}  `,
      element("span", { class: "soft" }, i ? differences(found, one.labels) : "the best")))),
  );
}

const differences = (found, labels) =>
  labels.map((y, t) => (y === found.nbest[0].labels[t] ? null : `${Array.isArray(found.tokens[t]) ? found.tokens[t][0] : found.tokens[t]} ${found.nbest[0].labels[t]} → ${y}`))
    .filter(Boolean).join(", ");

function showTree(found) {
  byId("answer").replaceChildren(found.tree ? tree(found.tree) : (found.note ?? ""));
  byId("hint").textContent = found.note ?? "";
  const phrases = found.phrases ?? [];
  byId("why").replaceChildren(...(phrases.length ? [element("h2", {}, "Phrases"), element("table", {}, ...phrases.map((p) => element("tr", {},
    element("td", {}, p.label), element("td", {}, found.tokens.slice(p.begin, p.end).join(" ")), element("td", { class: "number" }, percent(p.probability)))))] : []));
  const others = (found.nbest ?? []).slice(1);
  byId("others").replaceChildren(...(others.length ? [element("h2", {}, "Other trees"), ...others.map((one) => element("div", {},
    element("p", { class: "soft" }, one.probability === undefined ? "" : percent(one.probability)), tree(one.tree)))] : []));
}

function showNext(found) {
  byId("answer").replaceChildren();
  const most = found.next[0]?.probability ?? 1;
  byId("why").replaceChildren(element("h2", {}, "Next word"), element("table", { class: "bars" }, ...found.next.map((one) => element("tr", {},
    element("td", {}, one.word), element("td", {}, element("span", { class: "bar", style: { width: `${(10 * one.probability) / most}rem` } }), ` ${percent(one.probability)}`)))));
}

function showClass(found) {
  byId("answer").replaceChildren();
  const votes = found.votes ?? {}, probabilities = votes.probabilities ?? found.probabilities ?? {};
  const label = votes.label ?? found.label;
  byId("hint").textContent = `It is ${Array.isArray(label) ? label.join(" and ") || "nothing" : label}.`;
  if (votes.votes?.length) {
    const scores = Object.keys(probabilities).length ? probabilities : (votes.scores ?? {});
    const name = Array.isArray(label) ? (label[0] ?? Object.keys(scores)[0]) : label;
    showWhy({ token: "this text", label: name, probabilities: scores, votes: votes.votes, transitions: {}, following: {} });
  }
}
