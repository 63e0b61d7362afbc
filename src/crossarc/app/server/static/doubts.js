// The document's least certain words, to go through one by one.
import { COLUMNS, words } from "./conllu.js";
import { showDoubts } from "./panels.js";
import { change, go, showSummary } from "./sentence.js";
import { byId, comparison, parsed, say, state, store, view } from "./state.js";

const MOST_DOUBTS = 200;
export const CERTAIN = 0.95;
let doubts = [], doubtIndex = 0;

/** Search again, soon. */
export const updateDoubts = () => {
  clearTimeout(updateDoubts.timer);
  updateDoubts.timer = setTimeout(findDoubts, 60);
};

const findDoubts = () => {
  const found = [];
  for (const [index, { sure, information }] of parsed) {
    const { heads } = store.editsOf(index);
    sure?.forEach((probability, word) => {
      if (probability < CERTAIN && !(word + 1 in heads)) {
        found.push({ sentence: index, word: word + 1, probability, information: information?.[word] ?? 0 });
      }
    });
  }
  const by = view.order === "information"
    ? (a, b) => b.information - a.information : (a, b) => a.probability - b.probability;
  found.sort((a, b) => by(a, b) || a.sentence - b.sentence || a.word - b.word);
  doubts = found.slice(0, MOST_DOUBTS);
  const done = parsed.size < store.blocks.length
    ? `${parsed.size.toLocaleString("en")} of ${store.blocks.length.toLocaleString("en")} sentences parsed` : `${found.length.toLocaleString("en")}`;
  byId("doubts-count").textContent = done;
  if (state.answer && comparison() === "input") showSummary();
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

export const nextDoubt = (direction) => {
  const isThereNow = doubts[doubtIndex]?.sentence === view.sentence && doubts[doubtIndex]?.word === view.word;
  goDoubt(isThereNow ? doubtIndex + direction : doubtIndex);
};

/** Settle the head that the word has, and go on. */
export const accept = async () => {
  if (!view.word) return;
  const { word } = view;
  await change((edits) => { edits.heads[word] = state.answer.heads[word - 1]; }, word);
  findDoubts();
  if (doubts.length) goDoubt(doubtIndex);
};

