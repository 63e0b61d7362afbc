// The page: a document, the sentence in view, and everything that changes either.
import { COLUMNS, isConllu, nameOf, splitBlocks, textOf, words } from "./conllu.js";
import { Drawing, heatMap, percent } from "./drawing.js";
import { VirtualList } from "./list.js";
import { showDoubts, showFacts, showHints, showTable, showWord } from "./panels.js";
import { RefusedError, makeClient } from "./server.js";
import { download, pack, toPng, unpack } from "./share.js";
import { Store, isEdited, saveView, savedView } from "./store.js";

const CHUNK = 32, TREES = 10, LONG = 40, MOST_DOUBTS = 200, CERTAIN = 0.95, SCAN_ALONE = 300;
const byId = (name) => document.getElementById(name);

const view = { sentence: 0, word: 0, rank: 1, compare: "", keep: true, model: "" };
// Of each sentence that was parsed: heads, relations, probabilities.
const parsed = new Map();
let models = null, answer = null, running = null, doubts = [], doubtIndex = 0, generation = 0;

// ---- What is said to the reader

const say = (text, seconds = 4) => {
  const status = byId("status");
  status.textContent = text;
  status.hidden = !text;
  clearTimeout(say.timer);
  if (text && seconds) say.timer = setTimeout(() => { status.hidden = true; }, 1000 * seconds);
};

let isThere = true;
const client = makeClient((now) => {
  if (now === isThere) return;
  isThere = now;
  say(now ? "The server is back." : "The server does not answer. Nothing is lost; trying again …", now ? 3 : 0);
});

// ---- Requests

const details = () => models.details[view.model];
const keepsTrees = () => store.hasTrees && view.keep && view.compare !== "input";

const request = (indices, more) => ({
  conllu: indices.map((index) => `${store.source(index)}\n\n`).join(""),
  model: view.model,
  constraints: indices.map((index) => store.constraints(index)),
  closest_to_input: keepsTrees(),
  probabilities: details().probabilities,
  ...more,
});

const comparison = () => {
  if (view.compare === "other") return details().projective ? "nonprojective" : "projective";
  return view.compare || (view.rank > 1 ? "best" : null);
};

const shownRequest = (drawing) => request([view.sentence], {
  drawing,
  ...(details().probabilities && { compare: comparison(), rank: view.rank > 1 ? view.rank : null }),
  ...(view.compare === "input" && { compare: "input" }),
});

const remember = (index, one) => parsed.set(index, {
  heads: one.heads, deprels: one.deprels, sure: one.head_probabilities ?? null,
});

/** Show the sentence in view, as it is now. */
const refresh = async () => {
  running?.abort();
  running = new AbortController();
  const index = view.sentence;
  const width = Math.max(280, byId("drawing").clientWidth - 16);
  // The k best trees of a long sentence take longer than all the rest: they come after it.
  const isLong = words(store.blocks[index]).length > LONG && view.rank === 1;
  const full = details().probabilities && {
    candidates: 9, relations: 10, kbest: isLong ? 0 : TREES, entropy: true, marginals: byId("heat-box").open,
  };
  let found;
  try {
    [found] = await client.parse(
      { ...shownRequest({ format: "page", width }), hints: true, ...full }, running.signal);
  } catch (error) {
    if (error.name === "AbortError") return false;
    say(error instanceof RefusedError ? error.message : String(error), 8);
    return false;
  }
  answer = found;
  if (view.rank === 1) remember(index, answer);
  show();
  if (isLong && full) addTrees(index, running.signal);
  addCandidates();
  return true;
};

const addTrees = async (index, signal) => {
  const own = answer;
  const [found] = await client.parse(request([index], { kbest: TREES }), signal).catch(() => []);
  if (!found || answer !== own) return;
  answer.kbest = found.kbest;
  showRank();
};

// ---- The sentence in view

const show = () => {
  const edits = store.editsOf(view.sentence);
  const name = nameOf(store.blocks[view.sentence]);
  byId("sentence-name").textContent = /^\d*$/.test(name) ? `Sentence ${view.sentence + 1}` : name;
  byId("text").textContent = answer.text;
  drawing.show(answer, edits);
  showSummary();
  showHints(answer, choose);
  showRank();
  byId("undo").disabled = !store.done.length;
  byId("redo").disabled = !store.undone.length;
  showPanels();
  list.select(view.sentence);
  updateDoubts();
  saveView(view);
};

const showSummary = () => showFacts(answer, { rank: view.rank, compare: comparison(), scores: scores() });

const showRank = () => {
  const slider = byId("rank"), trees = answer.kbest ?? [];
  slider.max = Math.max(trees.length, view.rank);
  slider.value = view.rank;
  const own = trees[view.rank - 1];
  byId("rank-text").textContent = own ? `${view.rank} of ${trees.length}, ${percent(Math.exp(own.log_prob))}` : "";
};

const showPanels = () => {
  const edits = store.editsOf(view.sentence);
  const relations = [...new Set([...details().relations, ...models.universal.relations])];
  drawing.mark(view.word);
  showWord(answer, edits, view.word, relations, actions);
  if (byId("table-box").open) showTable(answer, view.word, { relations, tags: models.universal.tags });
  if (byId("heat-box").open && answer.marginals) arcAt = heatMap(byId("heat"), answer);
};
let arcAt = () => null;

/** Of a word whose head is settled: what its candidates would be if it were not. */
const addCandidates = async () => {
  const own = answer, { word, sentence } = view;
  if (!details().probabilities || !(word in store.editsOf(sentence).heads) || own.free?.has(word)) return;
  (own.free ??= new Set()).add(word);
  const constraints = structuredClone(store.constraints(sentence));
  delete constraints.heads[word];
  delete constraints.labels[word];
  const [found] = await client.parse(
    { ...request([sentence], { candidates: 9 }), constraints: [constraints] }).catch(() => []);
  if (!found || answer !== own) return;
  own.candidates[word - 1] = found.candidates[word - 1];
  if (view.word === word) showPanels();
};

const choose = (word, focus = false) => {
  if (!answer) return;
  view.word = Math.min(Math.max(word, 0), answer.forms.length);
  showPanels();
  addCandidates();
  if (focus) drawing.focus(view.word);
  saveView(view);
};

const go = async (index, word = 0) => {
  if (!store.blocks.length) return;
  const isSame = index === view.sentence && answer;
  Object.assign(view, { sentence: Math.min(Math.max(index, 0), store.blocks.length - 1), word });
  if (isSame && view.rank === 1) choose(word, word > 0);
  else {
    view.rank = 1;
    list.select(view.sentence);
    if (await refresh() && word) drawing.focus(word);
  }
};

/** Scores of the parser's trees against those of the file, as far as there are any. */
const scores = () => {
  if (comparison() !== "input" || !parsed.has(view.sentence)) return "";
  const count = { words: 0, heads: 0, both: 0 };
  const add = (index) => words(store.blocks[index]).forEach((row, word) => {
    const { heads, deprels } = parsed.get(index);
    const right = Number(row[COLUMNS.heads]) === heads[word];
    const label = (name) => name.split(":")[0];
    count.words += 1;
    count.heads += right;
    count.both += right && label(row[COLUMNS.deprels]) === label(deprels[word]);
  });
  const figures = () => `UAS ${(100 * count.heads / count.words).toFixed(1)}, LAS ${(100 * count.both / count.words).toFixed(1)}`;
  add(view.sentence);
  const here = figures();
  Object.assign(count, { words: 0, heads: 0, both: 0 });
  for (const index of parsed.keys()) add(index);
  return parsed.size > 1 ? `${here}; of ${parsed.size} parsed sentences: ${figures()}` : here;
};

// ---- What a person does to a sentence

const actions = {
  attach: (word, head) => change((edits) => {
    edits.heads[word] = head;
    delete edits.labels[word];
    edits.forbidden = edits.forbidden.filter(([h, m]) => h !== head || m !== word);
  }, word),
  forbid: (word, head) => change((edits) => {
    edits.forbidden.push([head, word]);
    if (edits.heads[word] === head) delete edits.heads[word];
    delete edits.labels[word];
  }, word),
  allow: (word, head) => change((edits) => {
    edits.forbidden = edits.forbidden.filter(([h, m]) => h !== head || m !== word);
  }, word),
  release: (word) => change((edits) => {
    delete edits.heads[word];
    delete edits.labels[word];
    edits.forbidden = edits.forbidden.filter(([, m]) => m !== word);
  }, word),
  relate: (word, label) => change((edits) => {
    edits.heads[word] = answer.heads[word - 1];
    edits.labels[word] = label;
  }, word),
  write: (word, column, value) => change((edits) => {
    edits.columns ??= Object.fromEntries(
      ["lemmas", "upos", "xpos", "feats"].map((name) => [name, [...answer[name]]]));
    edits.columns[column][word - 1] = value.replace(/\s+/g, " ").trim() || "_";
  }, word),
};

/** Change the edits of the sentence in view; what cannot be is undone. */
const change = async (edit, word) => {
  Object.assign(view, { word, rank: 1 });
  const steps = store.done.length;
  store.edit(view.sentence, edit);
  if (!await refresh() && isThere && running.signal.aborted === false && store.done.length > steps) {
    store.undo();
    store.undone.pop();
  }
};

const step = (index) => {
  if (index === null) return;
  Object.assign(view, { sentence: index, rank: 1 });
  refresh();
};

// ---- The document

const store = new Store((index) => {
  parsed.delete(index);
  list.draw();
});

const start = async () => {
  generation += 1;
  parsed.clear();
  answer = null;
  byId("drawing").replaceChildren();
  for (const one of document.querySelectorAll(".bench > [hidden]")) one.hidden = false;
  byId("keep-choice").hidden = !store.hasTrees;
  byId("compare").options[2].disabled = !store.hasTrees;
  byId("keep").checked = view.keep;
  byId("compare").value = view.compare;
  byId("sentence-count").textContent = store.blocks.length.toLocaleString("en");
  byId("previous").hidden = !await store.hasBefore();
  view.sentence = Math.min(view.sentence, store.blocks.length - 1);
  list.reset(store.blocks.length);
  showModel();
  byId("scan").hidden = store.blocks.length <= SCAN_ALONE;
  const shown = refresh();
  if (store.blocks.length <= SCAN_ALONE) shown.then(scan);
  await shown;
};

const showModel = () => {
  byId("compare").options[1].textContent = details().projective ? "the non-projective tree" : "the projective tree";
  byId("compare").options[1].disabled = byId("rank").disabled = !details().probabilities;
  byId("doubts-panel").hidden = !details().probabilities;
};

const openText = async (text, name) => {
  if (!text.trim()) return say("Paste some text first.");
  let blocks;
  try {
    blocks = splitBlocks(isConllu(text) ? text : await client.tokenize(text, view.model));
  } catch (error) {
    return say(error.message, 8);
  }
  if (!blocks.length) return say("There is no sentence in it.");
  await store.open(name, blocks);
  Object.assign(view, { sentence: 0, word: 0, rank: 1, compare: "", keep: true });
  return start();
};

const openFile = async (file) => openText(await file.text(), file.name);

/** Parse sentences of the document that were not parsed yet; done in portions. */
const parseAll = async (indices, more, use) => {
  const own = generation;
  for (let first = 0; first < indices.length; first += CHUNK) {
    const part = indices.slice(first, first + CHUNK);
    const found = await client.parse(request(part, more));
    if (own !== generation) return false;
    part.forEach((index, k) => use(index, found[k]));
    list.draw();
    updateDoubts();
  }
  return true;
};

const missing = (first, last) => {
  const found = [];
  for (let index = first; index < last; index += 1) if (!parsed.has(index)) found.push(index);
  return found;
};

const scan = async () => {
  byId("scan").disabled = true;
  try {
    await parseAll(missing(0, store.blocks.length), {}, remember);
    byId("scan").hidden = true;
  } catch (error) {
    say(error.message, 8);
  }
  byId("scan").disabled = false;
};

/** The whole document as CoNLL-U, with edits and probabilities in MISC. */
const wholeDocument = async () => {
  const parts = [];
  const all = store.blocks.map((_, index) => index);
  say("Parsing the document …", 0);
  const isComplete = await parseAll(all, {}, (index, one) => { parts[index] = one.conllu; remember(index, one); });
  say("");
  return isComplete ? parts.join("") : null;
};

// ---- The least certain words

const updateDoubts = () => {
  clearTimeout(updateDoubts.timer);
  updateDoubts.timer = setTimeout(findDoubts, 60);
};

const findDoubts = () => {
  const found = [];
  for (const [index, { sure }] of parsed) {
    const { heads } = store.editsOf(index);
    sure?.forEach((probability, word) => {
      if (probability < CERTAIN && !(word + 1 in heads)) found.push({ sentence: index, word: word + 1, probability });
    });
  }
  found.sort((a, b) => a.probability - b.probability || a.sentence - b.sentence || a.word - b.word);
  doubts = found.slice(0, MOST_DOUBTS);
  const done = parsed.size < store.blocks.length
    ? `${parsed.size.toLocaleString("en")} of ${store.blocks.length.toLocaleString("en")} sentences parsed` : `${found.length.toLocaleString("en")}`;
  byId("doubts-count").textContent = done;
  if (answer && comparison() === "input") showSummary();
  const current = { sentence: view.sentence, word: view.word };
  const at = doubts.findIndex((one) => one.sentence === current.sentence && one.word === current.word);
  if (at >= 0) doubtIndex = at;
  showDoubts(doubts, current, (doubt) => {
    const rows = words(store.blocks[doubt.sentence]);
    const head = parsed.get(doubt.sentence).heads[doubt.word - 1];
    return `${rows[doubt.word - 1][COLUMNS.forms]} ← ${head ? rows[head - 1][COLUMNS.forms] : "root"}`;
  }, goDoubt);
};

const goDoubt = (index) => {
  if (!doubts.length) return say("No word is less certain than 95%.");
  doubtIndex = Math.min(Math.max(index, 0), doubts.length - 1);
  return go(doubts[doubtIndex].sentence, doubts[doubtIndex].word);
};

const nextDoubt = (direction) => {
  const isThereNow = doubts[doubtIndex]?.sentence === view.sentence && doubts[doubtIndex]?.word === view.word;
  goDoubt(isThereNow ? doubtIndex + direction : doubtIndex);
};

const accept = async () => {
  if (!view.word) return;
  const { word } = view;
  await change((edits) => { edits.heads[word] = answer.heads[word - 1]; }, word);
  findDoubts();
  if (doubts.length) goDoubt(doubtIndex);
};

// ---- Out of the page

const stem = () => (store.name.replace(/\.[^.]*$/, "") || "text") + "-crossarc";

const exporters = {
  conllu: async () => {
    const text = await wholeDocument();
    if (text !== null) download(`${stem()}.conllu`, text, "text/plain");
  },
  svg: async () => download(`${stem()}-${view.sentence + 1}.svg`, await drawn("svg"), "image/svg+xml"),
  png: async () => download(`${stem()}-${view.sentence + 1}.png`, await toPng(await drawn("svg")), "image/png"),
  latex: async () => download(`${stem()}-${view.sentence + 1}.tex`, await drawn("latex"), "application/x-tex"),
};

const drawn = async (format) =>
  (await client.parse(shownRequest({ format, width: 1000, theme: "light" })))[0].drawing;

const copyLink = async () => {
  const { word, rank, compare, keep, model } = view;
  const state = { block: store.blocks[view.sentence], edits: store.editsOf(view.sentence), view: { word, rank, compare, keep, model } };
  const address = new URL(location.href);
  address.hash = `s=${await pack(state)}`;
  try {
    await navigator.clipboard.writeText(address.href);
    say("The link to this sentence is copied.");
  } catch {
    history.replaceState(null, "", address);
    say("The address of the page is the link to this sentence.");
  }
};

const openLink = async () => {
  const { block, edits, view: seen } = await unpack(location.hash.slice(3));
  history.replaceState(null, "", location.pathname);
  await store.open("link", [block]);
  if (isEdited(edits)) store.use(0, edits);
  if (!(seen.model in models.models)) {
    say(`The model ${seen.model} is not on this server: this is ${models.default_model}.`, 8);
    delete seen.model;
  }
  Object.assign(view, { sentence: 0 }, seen);
};

// ---- Wiring

const drawing = new Drawing(byId("drawing"), {
  choose: (word) => choose(word),
  attach: (word, head) => actions.attach(word, head),
  edit: (word) => {
    byId("table-box").open = true;
    choose(word);
    byId("words").querySelector(`[data-row="${word}"] input`)?.focus();
  },
});

byId("drawing").addEventListener("keydown", (event) => {
  if ((event.key !== "Enter" && event.key !== " ") || !view.word) return;
  event.preventDefault();
  byId("candidates").querySelector(".head")?.focus();
});

const list = new VirtualList(byId("list"), (index) => {
  const badges = [];
  const least = parsed.get(index)?.sure?.reduce((a, b) => Math.min(a, b), 1);
  if (store.edits.has(index)) badges.push(["edited", "edited"]);
  if (least !== undefined && least < CERTAIN) badges.push(["unsure", percent(least)]);
  return { text: textOf(store.blocks[index]), badges };
}, (index) => go(index), async (first, last) => {
  const indices = missing(first, last).filter((index) => index !== view.sentence);
  if (indices.length && store.blocks.length > SCAN_ALONE) await parseAll(indices, {}, remember).catch(() => {});
});

const click = (id, act) => byId(id).addEventListener("click", act);
click("parse", () => openText(byId("input").value, "text"));
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
byId("rank").addEventListener("input", (event) => {
  view.rank = Number(event.target.value);
  refresh();
});
byId("relation").addEventListener("change", (event) => actions.relate(view.word, event.target.value));
byId("table-box").addEventListener("toggle", () => answer && showPanels());
byId("heat-box").addEventListener("toggle", () => byId("heat-box").open && answer && refresh());
byId("words").addEventListener("change", ({ target }) => {
  const word = Number(target.closest("tr").dataset.row), { column } = target.dataset;
  if (column === "heads") {
    const head = Number(target.value);
    if (Number.isInteger(head) && head >= 0 && head <= answer.forms.length && head !== word) actions.attach(word, head);
    else {
      target.value = answer.heads[word - 1];
      say(`A head is a number from 0 to ${answer.forms.length}, and not the word itself.`);
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
    byId("heat-note").textContent = `${arc.head ? answer.forms[arc.head - 1] : "root"} → ${answer.forms[arc.word - 1]}: ${(100 * answer.marginals[arc.head][arc.word - 1]).toFixed(1)}%`;
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
  resized = setTimeout(() => answer && refresh(), 250);
});

const rank = (by) => {
  const most = answer?.kbest?.length ?? 1;
  const next = Math.min(Math.max(view.rank + by, 1), most);
  if (next === view.rank) return;
  view.rank = next;
  refresh();
};
const isMirrored = () => {
  const [first, second] = [1, 2].map((word) => drawing.node(word)?.getBoundingClientRect());
  return Boolean(second) && second.left < first.left && Math.abs(second.top - first.top) < 2;
};
const move = (by) => answer && choose(Math.max(1, view.word + (isMirrored() ? -by : by)), true);
const withAnswer = (act) => () => answer && !document.querySelector("dialog[open]") && act();
Object.assign(window.crossarc.keys, {
  n: withAnswer(() => nextDoubt(1)),
  p: withAnswer(() => nextDoubt(-1)),
  a: withAnswer(accept),
  x: withAnswer(() => view.word && actions.forbid(view.word, answer.heads[view.word - 1])),
  c: withAnswer(() => view.word && actions.release(view.word)),
  r: withAnswer(() => view.word && byId("relation").focus()),
  j: withAnswer(() => go(view.sentence + 1)),
  k: withAnswer(() => go(view.sentence - 1)),
  u: withAnswer(() => step(store.undo())),
  y: withAnswer(() => step(store.redo())),
  l: withAnswer(copyLink),
  "[": withAnswer(() => rank(-1)),
  "]": withAnswer(() => rank(1)),
  ArrowLeft: withAnswer(() => move(-1)),
  ArrowRight: withAnswer(() => move(1)),
  "/": () => byId("input").focus(),
  "?": () => byId("help").showModal(),
});
for (let digit = 1; digit <= 9; digit += 1) {
  window.crossarc.keys[digit] = withAnswer(() =>
    view.word && byId("candidates").querySelectorAll("li:not(.excluded) .head")[digit - 1]?.click());
}

// ---- Beginning

models = await client.models();
byId("model").replaceChildren(...Object.keys(models.models).map((name) => new Option(name)));
Object.assign(view, savedView());
const hasDocument = await store.restore();
if (location.hash.startsWith("#s=")) {
  await openLink().catch(() => say("This link cannot be read: it is not complete.", 8));
}
if (!(view.model in models.models)) view.model = models.default_model;
byId("model").value = view.model;
if (hasDocument || store.blocks.length) await start();
document.documentElement.dataset.ready = "yes";
