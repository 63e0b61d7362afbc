// The document: opened, parsed in portions, listed, and given back.
import { isConllu, splitBlocks, textOf } from "./conllu.js";
import { CERTAIN, updateDoubts } from "./doubts.js";
import { percent } from "./drawing.js";
import { VirtualList } from "./list.js";
import { go, refresh, shownRequest } from "./sentence.js";
import { download, pack, toPng, unpack } from "./share.js";
import {
  byId, client, details, parsed, remember, request, say, state, store, view,
} from "./state.js";
import { isEdited } from "./store.js";

const CHUNK = 32, SCAN_ALONE = 300;
let generation = 0;

export const start = async () => {
  generation += 1;
  parsed.clear();
  state.answer = null;
  byId("drawing").replaceChildren();
  for (const one of document.querySelectorAll(".bench > [hidden]")) one.hidden = false;
  byId("welcome").hidden = true;
  byId("keep-choice").hidden = !store.hasTrees;
  byId("compare").options[2].disabled = !store.hasTrees;
  byId("keep").checked = view.keep;
  byId("compare").value = view.compare;
  byId("order").value = view.order;
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

export const openText = async (text, name) => {
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

export const openFile = async (file) => openText(await file.text(), file.name);

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

export const scan = async () => {
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
export const wholeDocument = async () => {
  const parts = [];
  const all = store.blocks.map((_, index) => index);
  say("Parsing the document …", 0);
  const isComplete = await parseAll(all, {}, (index, one) => { parts[index] = one.conllu; remember(index, one); });
  say("");
  return isComplete ? parts.join("") : null;
};

export const list = new VirtualList(byId("list"), (index) => {
  const badges = [];
  const least = parsed.get(index)?.sure?.reduce((a, b) => Math.min(a, b), 1);
  if (store.edits.has(index)) badges.push(["edited", "edited"]);
  if (least !== undefined && least < CERTAIN) badges.push(["unsure", percent(least)]);
  return { text: textOf(store.blocks[index]), badges };
}, (index) => go(index), async (first, last) => {
  const indices = missing(first, last).filter((index) => index !== view.sentence);
  if (indices.length && store.blocks.length > SCAN_ALONE) await parseAll(indices, {}, remember).catch(() => {});
});

state.changed = () => list.draw();

// ---- Out of the page

const stem = () => (store.name.replace(/\.[^.]*$/, "") || "text") + "-crossarc";

export const exporters = {
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

export const copyLink = async () => {
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

export const openLink = async () => {
  const { block, edits, view: seen } = await unpack(location.hash.slice(3));
  history.replaceState(null, "", location.pathname);
  await store.open("link", [block]);
  if (isEdited(edits)) store.use(0, edits);
  if (!(seen.model in state.models.models)) {
    say(`The model ${seen.model} is not on this server: this is ${state.models.default_model}.`, 8);
    delete seen.model;
  }
  Object.assign(view, { sentence: 0 }, seen);
};

