// The annotator's page: one item at a time, by keys or mouse; whatever is done is saved before the page says so.
import { chart } from "./chart.js";
import { ask, byId, element, hue, percent } from "./dom.js";
import { Marking } from "./marking.js";
import { sentence } from "./spans.js";

const page = (sessionStorage.page ??= Math.random().toString(36).slice(2));
const KEYS = [
  ["← →", "go to the next token; with Shift select several"],
  ["1 – 9", "label the selection, or the span under the cursor"],
  ["0", "no label"],
  ["u", "leave undecided, or decide"],
  ["Enter", "accept what is decided; Shift+Enter: all of it, every token has been read"],
  ["z", "undo"], ["s", "skip"], ["f", "flag"],
  ["a", "always: these words are this label everywhere"],
  ["n", "never here: this span is not of this label"],
  ["/", "search"], ["Esc", "back to the sentence"], ["?", "these keys"],
];
let state = null, item = null, marking = null, chosen = null, busy = false;

// ---------------------------------------------------------------- talking to the service

const query = () => ({ order: byId("order").value, search: byId("search").value });

async function attempt(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
    notice("");
  } catch (error) {
    notice(error.message);
    if (error.status === 409 && item) show(await ask("GET", `/api/items/${item.item}`), true);
  } finally {
    busy = false;
  }
}

async function act(action, advance) {
  await attempt(async () => {
    const told = { page, ...action };
    if ("item" in action) told.revision = item.revision;
    if (advance) told.next = query();
    const began = performance.now();
    const found = await ask("POST", "/api/do", told);
    update(found.state);
    if (advance) show(found.next);
    else if (found.item !== null && found.item !== undefined) show(await ask("GET", `/api/items/${found.item}`));
    else if (item) show(await ask("GET", `/api/items/${item.item}`));
    byId("saved").textContent = `saved as entry ${found.saved}`;
    document.body.dataset.saved = found.saved;
    document.body.dataset.milliseconds = (performance.now() - began).toFixed(1);
    list();
  });
}

const next = () => attempt(async () => show(await ask("POST", "/api/next", { page, ...query() })));

// The model learns in the background: proposals follow it while nothing was touched.
async function follow() {
  try {
    const found = await ask("GET", "/api/state");
    const news = state && found.learnt.times !== state.learnt.times;
    update(found);
    if (news && item && !busy && !(marking?.touched || chosen)) {
      const fresh = await ask("GET", `/api/items/${item.item}`);
      if (!busy && fresh.item === item.item && !(marking?.touched || chosen)) show(fresh, true);
    }
  } catch {
    notice("the annotator does not answer; what was said to be saved is saved. Start the same command again");
  }
  setTimeout(follow, 1000);
}

// ---------------------------------------------------------------- what is shown

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

function update(found) {
  const first = state === null;
  state = found;
  const open = found.items - found.answered;
  byId("progress").textContent = `${found.answered} of ${found.items} done` +
    (found.skipped ? `, ${found.skipped} skipped` : "") + (found.flagged ? `, ${found.flagged} flagged` : "");
  document.title = `${open} left · loglin annotate`;
  if (first) begin();
  curve();
  byId("always").replaceChildren(
    ...(found.always.length ? [element("h2", {}, "Always"), ...found.always.map((rule) => element("span", { class: "chip row", style: { "--hue": hue(found.types, rule.type) } }, ` ${rule.words.join(" ")} · ${rule.type}`))] : []),
  );
}

function begin() {
  byId("order").replaceChildren(...Object.entries(state.orders).map(([value, text]) => element("option", { value }, text)));
  byId("labels").replaceChildren(...state.types.map((type, i) => button(type, i < 9 ? i + 1 : "", () => label(type), { class: "chip", style: { "--hue": hue(state.types, type) }, "data-type": type })));
  const spans = state.task === "tag";
  if (spans) byId("labels").append(button("no label", "0", () => label(null)), button("undecided", "u", undecided));
  byId("actions").replaceChildren(
    button("accept", "Enter", () => accept(false), { class: "main" }),
    ...(spans ? [button("accept all", "⇧Enter", () => accept(true))] : []),
    button("undo", "z", undo), button("skip", "s", skip), button("flag", "f", flag),
    ...(spans ? [button("always", "a", always), button("never here", "n", never)] : []),
  );
  byId("help").replaceChildren(element("dl", {}, ...KEYS.flatMap(([key, text]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, text)])));
  const forms = spans ? ["columns", "jsonl", "docbin", "model"] : ["jsonl", "model"];
  byId("exports").replaceChildren(...forms.map((form) => element("a", { href: `/api/export/${form}`, download: "" }, form)));
}

function button(text, key, onclick, more = {}) {
  return element("button", { type: "button", onclick, ...more }, text, key ? " " : null, key ? element("kbd", { "aria-hidden": "true" }, String(key)) : null);
}

function show(found, same = false) {
  const cursor = marking && same ? [marking.cursor, marking.anchor] : null;
  item = found;
  marking = chosen = null;
  const box = byId("sentence");
  if (!item) {
    box.replaceChildren(element("p", {}, "Nothing is left here: change the search, or look at what was skipped."));
    byId("asked").textContent = "";
    return;
  }
  if (state.task === "tag") {
    marking = new Marking(item, state.types);
    if (cursor) [marking.cursor, marking.anchor] = cursor;
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-multiselectable", "true");
    box.setAttribute("aria-label", `sentence ${item.item + 1}: ${item.text}`);
  } else box.classList.add("document");
  draw();
  if (!same && !["INPUT", "SELECT"].includes(document.activeElement?.tagName)) box.focus({ preventScroll: true });
}

function draw() {
  document.body.dataset.item = item.item;
  if (!marking) return drawDocument();
  const { selection } = marking, certainty = item.proposal.certainty;
  const spans = marking.spans.map((span) => ({ ...span, decided: marking.isDecided(span) }));
  const boxes = sentence(item.text, item.places, spans, state.types, (t) => {
    const inside = selection.start <= t && t < selection.stop, decided = marking.decided.has(t), span = marking.spanAt(t);
    const word = item.text.slice(...item.places[t]);
    const said = [word, span ? span.type : "no label", decided ? "" : "undecided", certainty[t] ? percent(certainty[t]) : ""];
    const classes = ["token", inside && "selected", t === marking.cursor && "cursor", !decided && "undecided"];
    return element("span", {
      class: classes.filter(Boolean).join(" "), id: `token-${t}`, role: "option", "data-token": t,
      "aria-selected": String(inside), "aria-label": said.filter(Boolean).join(", "),
    }, word);
  });
  const box = byId("sentence");
  box.replaceChildren(...boxes);
  box.setAttribute("aria-activedescendant", `token-${marking.cursor}`);
  const left = marking.n - marking.decided.size;
  byId("asked").textContent = (item.flagged ? "flagged. " : "") + (item.check ? "Drawn at random to measure how well it proposes: please read all of it. " : "") +
    (left ? `${left} of ${marking.n} tokens are not asked for: the model is certain of them, and they stay undecided.` : "All tokens are asked for.");
}

function drawDocument() {
  const said = item.answer?.label ?? null, told = item.proposal.probabilities;
  byId("sentence").replaceChildren(item.text);
  const best = chosen ?? said ?? item.proposal.label;
  for (const one of byId("labels").querySelectorAll("[data-type]")) {
    const type = one.dataset.type;
    one.setAttribute("aria-pressed", String(type === best));
    one.classList.toggle("wins", type === best);
    one.querySelector(".share")?.remove();
    if (type in told) one.append(element("span", { class: "share soft" }, ` ${percent(told[type])}`));
  }
  byId("asked").textContent = (item.flagged ? "flagged. " : "") + (best === null ? "No proposal yet." : "");
}

function curve() {
  const points = state.curve.map((p) => [p.answers, p.agreement]);
  const what = state.task === "tag" ? "F1" : "agreement";
  byId("curve").replaceChildren(...(points.length > 1 ? [chart(points, { title: `${what} of proposals`, across: "answers", format: percent, low: 0, high: 1 })] : []));
  const { learnt } = state;
  const failed = learnt.failure ? ` The last attempt to learn failed: ${learnt.failure}` : "";
  byId("curve-note").textContent = (points.length > 1
    ? `${what} of what was proposed before you answered, over the last answers. The least certain come first, so the rest is easier.` + checks()
    : "Shown after some answers: every item is predicted before it is learnt.") +
    (learnt.entries ? ` Learnt ${learnt.entries} of ${state.entries} entries, in ${learnt.seconds.toFixed(2)} s.` : "") + failed;
}

function checks() {
  const { agreement, of } = state.checks;
  return of ? ` On ${of} drawn at random: ${percent(agreement)}.` : "";
}

async function list() {
  const found = await ask("GET", `/api/list?kind=${byId("kind").value}&search=${encodeURIComponent(byId("search").value)}`).catch(() => []);
  byId("list").replaceChildren(...found.map((one) => element("li", { value: one.item + 1 }, element("button", { type: "button", onclick: () => open(one.item) }, one.text))));
}

const open = (number) => attempt(async () => show(await ask("GET", `/api/items/${number}`)));

// ---------------------------------------------------------------- what people do

function label(type) {
  if (!item) return;
  if (marking) marking.label(type, state.single);
  else if (type !== null) chosen = type;
  draw();
  byId("sentence").focus({ preventScroll: true });
}

function undecided() {
  marking?.toggleDecided();
  if (item) draw();
}

function accept(all) {
  if (!item) return;
  if (marking && all) marking.decideAll();
  const said = marking ? marking.answer() : { label: chosen ?? item.answer?.label ?? item.proposal.label };
  if (!marking && said.label === null) return notice("choose a label first");
  return act({ do: "answer", item: item.item, ...said }, true);
}

const undo = () => act({ do: "undo" }, false);
const skip = () => item && act({ do: "skip", item: item.item }, true);
const flag = () => item && act({ do: "flag", item: item.item, flagged: !item.flagged }, false);

function aimed() {
  const aim = marking?.aim(), span = aim && marking.spanAt(aim.start);
  if (!span || span.start !== aim.start || span.stop !== aim.stop) return notice("put the cursor on a span first") ?? null;
  return span;
}

function always() {
  const span = aimed();
  if (span) act({ do: "always", words: item.places.slice(span.start, span.stop).map((p) => item.text.slice(...p)), type: span.type }, false);
}

function never() {
  const span = aimed();
  if (span) act({ do: "never", item: item.item, span: [span.start, span.stop, span.type] }, false);
}

function help() {
  const shown = byId("help").hidden;
  byId("help").hidden = !shown;
  byId("help-button").setAttribute("aria-expanded", String(shown));
}

// ---------------------------------------------------------------- keys and mouse

const DONE = { u: undecided, z: undo, s: skip, f: flag, a: () => marking && always(), n: () => marking && never(), "?": help };

document.addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "Escape") return byId("sentence").focus();
  if (typing) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") return event.preventDefault(), undo();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const pressed = event.target.tagName === "BUTTON" || event.target.tagName === "A";
  if (event.key === "Enter" && !pressed) return event.preventDefault(), accept(event.shiftKey);
  if (event.key === "/") return event.preventDefault(), byId("search").focus();
  if (/^[0-9]$/.test(event.key)) {
    const type = event.key === "0" ? null : state?.types[event.key - 1];
    return type !== undefined && label(type);
  }
  if (marking && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
    event.preventDefault();
    const to = { ArrowLeft: marking.cursor - 1, ArrowRight: marking.cursor + 1, Home: 0, End: marking.n - 1 };
    marking.move(to[event.key], event.shiftKey);
    return draw();
  }
  DONE[event.key]?.();
});

let dragging = false;
const tokenOf = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-token]")?.dataset.token;
byId("sentence").addEventListener("pointerdown", (event) => {
  const token = tokenOf(event);
  if (!marking || token === undefined) return;
  event.preventDefault();
  byId("sentence").focus();
  dragging = true;
  marking.move(Number(token), event.shiftKey);
  draw();
});
document.addEventListener("pointermove", (event) => {
  const token = dragging && tokenOf(event);
  if (!token || Number(token) === marking.cursor) return;
  marking.move(Number(token), true);
  draw();
});
document.addEventListener("pointerup", () => { dragging = false; });

byId("order").addEventListener("change", next);
byId("search").addEventListener("change", () => { next(); list(); });
byId("kind").addEventListener("change", list);
byId("help-button").addEventListener("click", help);

update(await ask("GET", "/api/state"));
await next();
list();
follow();
