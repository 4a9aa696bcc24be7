// The inspector: what a model says of a text, why, and what is in it. Beside a service it asks the service; in a report,
// one file on its own, it shows the answers that are in the file.
import { ask, byId, element } from "./dom.js";
import { showContents } from "./contents.js";
import { showEvaluation } from "./evaluation.js";
import { showAnswer } from "./answers.js";

const embedded = byId("report");
const report = embedded ? JSON.parse(embedded.textContent) : null;

// ---------------------------------------------------------------- a report

function showReport() {
  document.title = `${report.model} · loglin inspector`;
  for (const id of ["models", "interface", "typing"]) byId(id).hidden = true;
  byId("try-title").textContent = `What ${report.model} says`;
  byId("picking").hidden = report.examples.length === 0;
  byId("example").append(...report.examples.map((one, i) => element("option", { value: i }, one.text)));
  const choose = (number) => {
    byId("example").value = number;
    const one = report.examples[number];
    showAnswer(one, report.contents, (position) => one.explanations[position]);
  };
  byId("example").addEventListener("change", () => choose(Number(byId("example").value)));
  if (report.examples.length) choose(0);
  else byId("hint").textContent = "There are no examples in this report: give --eval FILE, or --example TEXT.";
  showContents(report.contents);
  if (report.evaluation) showEvaluation(report.evaluation, report.contents, report.examples.length ? choose : null);
}

// ---------------------------------------------------------------- a service

const STARTS = { tag: "Ann Lee lives in New York .", parse: "the dog saw the cat", next: "the", classify: "the game was won" };
let served = [], answered = 0;

async function showService() {
  served = (await ask("GET", "models")).models;
  byId("model").append(...served.map((one) => element("option", {}, one.name)));
  byId("model").addEventListener("change", () => chooseModel());
  byId("text").addEventListener("input", () => answer());
  byId("text").value = STARTS[chosen().answers] ?? "";
  await chooseModel();
}

const chosen = () => served.find((one) => one.name === byId("model").value) ?? served[0];

async function chooseModel() {
  const model = chosen();
  await answer();
  try {
    showContents(await ask("GET", `models/${encodeURIComponent(model.name)}/contents`));
  } catch (error) {
    notice(error.message);
  }
}

const ASKED = {
  tag: { entities: true, marginals: true, nbest: 5 },
  parse: { nbest: 3, probabilities: true },
  next: { k: 10 },
  classify: { votes: true },
};

// The answer to the text as it stands; one that comes behind a later one is left aside.
async function answer() {
  const model = chosen(), text = byId("text").value, number = ++answered;
  const at = (verb) => `${verb}?model=${encodeURIComponent(model.name)}`;
  try {
    const found = text.trim() ? await ask("POST", at(model.answers), { text, ...ASKED[model.answers] }) : { text: "", tokens: [] };
    if (number !== answered) return;
    notice("");
    const explain = async (position) => (await ask("POST", at("explain"), { text, position })).explanation;
    showAnswer({ text, verb: model.answers, ...found, places: found.spans }, model, explain);
  } catch (error) {
    if (number === answered) notice(error.message);
  }
}

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

if (report) showReport();
else showService().catch((error) => notice(`the service does not answer: ${error.message}`));
document.body.dataset.ready = "yes";
