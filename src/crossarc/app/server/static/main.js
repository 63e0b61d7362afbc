// The page: what the mouse, the keyboard and the address of the page do.
import { accept, nextDoubt } from "./doubts.js";
import {
  copyLink, exporters, openFile, openLink, openText, scan, start, wholeDocument,
} from "./document.js";
import { actions, arcAt, drawing, go, moveBy, rankBy, refresh, showPanels, step } from "./sentence.js";
import { byId, client, keepsTrees, say, state, store, view } from "./state.js";
import { savedView, saveView, watchOthers } from "./store.js";

const EXAMPLE = "I saw the man with the telescope. Time flies like an arrow. Flying planes can be dangerous. "
  + "A letter finally arrived that nobody could read.";

byId("drawing").addEventListener("keydown", (event) => {
  if ((event.key !== "Enter" && event.key !== " ") || !view.word) return;
  event.preventDefault();
  byId("candidates").querySelector(".head")?.focus();
});

const click = (id, act) => byId(id).addEventListener("click", act);
click("parse", () => openText(byId("input").value, "text"));
click("example", () => {
  byId("input").value = EXAMPLE;
  byId("parse").click();
});
click("bank", async () => openText(await (await fetch("static/sample.conllu")).text(), "sample.conllu"));
click("before", () => go(view.sentence - 1));
click("after", () => go(view.sentence + 1));
click("undo", () => step(store.undo()));
click("redo", () => step(store.redo()));
click("scan", scan);
click("link", copyLink);
click("release", () => view.word && actions.release(view.word));
click("keys", () => byId("help").showModal());
click("previous", async () => {
  await store.takeBack();
  Object.assign(view, { sentence: 0, word: 0, rank: 1, compare: "" });
  start();
});
byId("file").addEventListener("change", (event) => event.target.files[0] && openFile(event.target.files[0]));
byId("input").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("parse").click();
  if (event.key === "Escape") event.target.blur();
});
byId("model").addEventListener("change", (event) => {
  view.model = event.target.value;
  if (store.blocks.length) start();
  else saveView(view);
});
byId("keep").addEventListener("change", (event) => {
  view.keep = event.target.checked;
  start();
});
byId("compare").addEventListener("change", (event) => {
  const before = keepsTrees();
  Object.assign(view, { compare: event.target.value, rank: 1 });
  if (before === keepsTrees()) refresh();
  else start();
});
byId("order").addEventListener("change", (event) => {
  view.order = event.target.value;
  start();
});
byId("rank").addEventListener("input", (event) => {
  view.rank = Number(event.target.value);
  refresh();
});
byId("relation").addEventListener("change", (event) => actions.relate(view.word, event.target.value));
byId("table-box").addEventListener("toggle", () => state.answer && showPanels());
byId("heat-box").addEventListener("toggle", () => byId("heat-box").open && state.answer && refresh());
byId("words").addEventListener("change", ({ target }) => {
  const word = Number(target.closest("tr").dataset.row), { column } = target.dataset;
  if (column === "heads") {
    const head = Number(target.value);
    if (Number.isInteger(head) && head >= 0 && head <= state.answer.forms.length && head !== word) actions.attach(word, head);
    else {
      target.value = state.answer.heads[word - 1];
      say(`A head is a number from 0 to ${state.answer.forms.length}, and not the word itself.`);
    }
  } else if (column === "deprels") actions.relate(word, target.value.trim() || "_");
  else actions.write(word, column, target.value);
});
byId("words").addEventListener("focusin", ({ target }) => {
  const row = target.closest("tr[data-row]");
  if (row && Number(row.dataset.row) !== view.word) {
    view.word = Number(row.dataset.row);
    drawing.mark(view.word);
  }
});
byId("heat").addEventListener("pointermove", (event) => {
  const arc = arcAt(event);
  if (arc) {
    byId("heat-note").textContent = `${arc.head ? state.answer.forms[arc.head - 1] : "root"} → ${state.answer.forms[arc.word - 1]}: ${(100 * state.answer.marginals[arc.head][arc.word - 1]).toFixed(1)}%`;
  }
});
byId("heat").addEventListener("click", (event) => {
  const arc = arcAt(event);
  if (arc) actions.attach(arc.word, arc.head);
});
byId("export").addEventListener("click", async ({ target }) => {
  const kind = target.dataset.export;
  if (!kind) return;
  byId("export").open = false;
  await exporters[kind]().catch((error) => say(error.message, 8));
});
byId("analyze").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  if (!store.blocks.length) return say("Open a treebank first.");
  const data = store.hasTrees ? store.blocks.map((block) => `${block}\n\n`).join("") : await wholeDocument();
  form.elements.data.value = data;
  form.elements.name.value = store.name;
  return form.submit();
});

const bench = byId("bench");
addEventListener("dragover", (event) => {
  event.preventDefault();
  bench.classList.add("over");
});
addEventListener("dragleave", (event) => event.relatedTarget || bench.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  bench.classList.remove("over");
  const [file] = event.dataTransfer.files;
  if (file) openFile(file);
  else openText(event.dataTransfer.getData("text/plain"), "text");
});
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
  const key = event.key.toLowerCase();
  if (key === "z") step(event.shiftKey ? store.redo() : store.undo());
  else if (key === "y") step(store.redo());
  else return;
  event.preventDefault();
});
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => state.answer && refresh(), 250);
});

const withAnswer = (act) => () => state.answer && !document.querySelector("dialog[open]") && act();
Object.assign(window.crossarc.keys, {
  n: withAnswer(() => nextDoubt(1)),
  p: withAnswer(() => nextDoubt(-1)),
  a: withAnswer(accept),
  x: withAnswer(() => view.word && actions.forbid(view.word, state.answer.heads[view.word - 1])),
  c: withAnswer(() => view.word && actions.release(view.word)),
  r: withAnswer(() => view.word && byId("relation").focus()),
  j: withAnswer(() => go(view.sentence + 1)),
  k: withAnswer(() => go(view.sentence - 1)),
  u: withAnswer(() => step(store.undo())),
  y: withAnswer(() => step(store.redo())),
  l: withAnswer(copyLink),
  "[": withAnswer(() => rankBy(-1)),
  "]": withAnswer(() => rankBy(1)),
  ArrowLeft: withAnswer(() => moveBy(-1)),
  ArrowRight: withAnswer(() => moveBy(1)),
  "/": () => byId("input").focus(),
  "?": () => byId("help").showModal(),
});
for (let digit = 1; digit <= 9; digit += 1) {
  window.crossarc.keys[digit] = withAnswer(() =>
    view.word && byId("candidates").querySelectorAll("li:not(.excluded) .head")[digit - 1]?.click());
}

watchOthers(() => say("The document was changed in another tab. Reload this one before you go on.", 0));

// ---- Beginning

state.models = await client.models();
byId("model").replaceChildren(...Object.keys(state.models.models).map((name) => new Option(name)));
Object.assign(view, savedView());
const hasDocument = await store.restore();
if (location.hash.startsWith("#s=")) {
  await openLink().catch(() => say("This link cannot be read: it is not complete.", 8));
}
if (!(view.model in state.models.models)) view.model = state.models.default_model;
byId("model").value = view.model;
if (hasDocument || store.blocks.length) await start();
else byId("welcome").hidden = false;
document.documentElement.dataset.ready = "yes";
