// The sentence in view: its tree, what is said of it, and what a person does to it.
import { COLUMNS, nameOf, words } from "./conllu.js";
import { updateDoubts } from "./doubts.js";
import { list } from "./document.js";
import { Drawing, heatMap, percent } from "./drawing.js";
import { showFacts, showHints, showTable, showWord } from "./panels.js";
import { RefusedError } from "./server.js";
import {
  byId, client, comparison, details, isReached, parsed, remember, request, say, state, store, view,
} from "./state.js";
import { saveView } from "./store.js";

const TREES = 10, LONG = 40;
let running = null;

// ---- Requests

export const shownRequest = (drawing) => request([view.sentence], {
  drawing,
  ...(details().probabilities && { compare: comparison(), rank: view.rank > 1 ? view.rank : null }),
  ...(view.compare === "input" && { compare: "input" }),
});

/** Show the sentence in view, as it is now. */
export const refresh = async () => {
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
  state.answer = found;
  if (view.rank === 1) remember(index, state.answer);
  show();
  if (isLong && full) addTrees(index, running.signal);
  addCandidates();
  return true;
};

const addTrees = async (index, signal) => {
  const own = state.answer;
  const [found] = await client.parse(request([index], { kbest: TREES }), signal).catch(() => []);
  if (!found || state.answer !== own) return;
  state.answer.kbest = found.kbest;
  showRank();
};

// ---- What is shown

const show = () => {
  const edits = store.editsOf(view.sentence);
  const name = nameOf(store.blocks[view.sentence]);
  byId("sentence-name").textContent = /^\d*$/.test(name) ? `Sentence ${view.sentence + 1}` : name;
  byId("text").textContent = state.answer.text;
  drawing.show(state.answer, edits);
  showSummary();
  showHints(state.answer, choose);
  showRank();
  byId("undo").disabled = !store.done.length;
  byId("redo").disabled = !store.undone.length;
  showPanels();
  list.select(view.sentence);
  updateDoubts();
  saveView(view);
};

export const showSummary = () => showFacts(state.answer, { rank: view.rank, compare: comparison(), scores: scores() });

const showRank = () => {
  const slider = byId("rank"), trees = state.answer.kbest ?? [];
  slider.max = Math.max(trees.length, view.rank);
  slider.value = view.rank;
  const own = trees[view.rank - 1];
  byId("rank-text").textContent = own ? `${view.rank} of ${trees.length}, ${percent(Math.exp(own.log_prob))}` : "";
};

export const showPanels = () => {
  const edits = store.editsOf(view.sentence);
  const relations = [...new Set([...details().relations, ...state.models.universal.relations])];
  drawing.mark(view.word);
  showWord(state.answer, edits, view.word, relations, actions);
  if (byId("table-box").open) showTable(state.answer, view.word, { relations, tags: state.models.universal.tags });
  if (byId("heat-box").open && state.answer.marginals) findArc = heatMap(byId("heat"), state.answer);
};
let findArc = () => null;

/** The arc of the heat map under the mouse. */
export const arcAt = (event) => findArc(event);

/** Of a word whose head is settled: what its candidates would be if it were not. */
const addCandidates = async () => {
  const own = state.answer, { word, sentence } = view;
  if (!details().probabilities || !(word in store.editsOf(sentence).heads) || own.free?.has(word)) return;
  (own.free ??= new Set()).add(word);
  const constraints = structuredClone(store.constraints(sentence));
  delete constraints.heads[word];
  delete constraints.labels[word];
  const [found] = await client.parse(
    { ...request([sentence], { candidates: 9 }), constraints: [constraints] }).catch(() => []);
  if (!found || state.answer !== own) return;
  own.candidates[word - 1] = found.candidates[word - 1];
  if (view.word === word) showPanels();
};

export const choose = (word, focus = false) => {
  if (!state.answer) return;
  view.word = Math.min(Math.max(word, 0), state.answer.forms.length);
  showPanels();
  addCandidates();
  if (focus) drawing.focus(view.word);
  saveView(view);
};

export const go = async (index, word = 0) => {
  if (!store.blocks.length) return;
  const isSame = index === view.sentence && state.answer;
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

// ---- What a person does

export const actions = {
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
    edits.heads[word] = state.answer.heads[word - 1];
    edits.labels[word] = label;
  }, word),
  write: (word, column, value) => change((edits) => {
    edits.columns ??= Object.fromEntries(
      ["lemmas", "upos", "xpos", "feats"].map((name) => [name, [...state.answer[name]]]));
    edits.columns[column][word - 1] = value.replace(/\s+/g, " ").trim() || "_";
  }, word),
};

/** Change the edits of the sentence in view; what cannot be is undone. */
export const change = async (edit, word) => {
  Object.assign(view, { word, rank: 1 });
  const steps = store.done.length;
  store.edit(view.sentence, edit);
  if (!await refresh() && isReached() && running.signal.aborted === false && store.done.length > steps) {
    store.undo();
    store.undone.pop();
  }
};

export const step = (index) => {
  if (index === null) return;
  Object.assign(view, { sentence: index, rank: 1 });
  refresh();
};

/** Go to a better or a worse tree among the k best. */
export const rankBy = (by) => {
  const most = state.answer?.kbest?.length ?? 1;
  const next = Math.min(Math.max(view.rank + by, 1), most);
  if (next === view.rank) return;
  view.rank = next;
  refresh();
};
const isMirrored = () => {
  const [first, second] = [1, 2].map((word) => drawing.node(word)?.getBoundingClientRect());
  return Boolean(second) && second.left < first.left && Math.abs(second.top - first.top) < 2;
};
/** Go to another word, as the drawing runs. */
export const moveBy = (by) => state.answer && choose(Math.max(1, view.word + (isMirrored() ? -by : by)), true);

export const drawing = new Drawing(byId("drawing"), {
  choose: (word) => choose(word),
  attach: (word, head) => actions.attach(word, head),
  edit: (word) => {
    byId("table-box").open = true;
    choose(word);
    byId("words").querySelector(`[data-row="${word}"] input`)?.focus();
  },
});
