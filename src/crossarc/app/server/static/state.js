// What the modules of the page share: the view, the document, the server, what is said to the reader.
import { makeClient } from "./server.js";
import { Store } from "./store.js";

export const byId = (name) => document.getElementById(name);

export const view = { sentence: 0, word: 0, rank: 1, compare: "", keep: true, model: "", order: "probability" };

/** `answer` is what the server said of the sentence in view; `changed` is called with a sentence. */
export const state = { models: null, answer: null, changed: () => {} };

/** Of each sentence that was parsed: heads, relations, probabilities, information. */
export const parsed = new Map();

export const store = new Store((index) => {
  parsed.delete(index);
  state.changed(index);
});

export const say = (text, seconds = 4) => {
  const status = byId("status");
  status.textContent = text;
  status.hidden = !text;
  clearTimeout(say.timer);
  if (text && seconds) say.timer = setTimeout(() => { status.hidden = true; }, 1000 * seconds);
};

let isThere = true;
export const isReached = () => isThere;

export const client = makeClient((now) => {
  if (now === isThere) return;
  isThere = now;
  say(now ? "The server is back." : "The server does not answer. Nothing is lost; trying again …", now ? 3 : 0);
});

export const details = () => state.models.details[view.model];
export const keepsTrees = () => store.hasTrees && view.keep && view.compare !== "input";

/** A request for some sentences, with their constraints. */
export const request = (indices, more) => ({
  conllu: indices.map((index) => `${store.source(index)}\n\n`).join(""),
  model: view.model,
  constraints: indices.map((index) => store.constraints(index)),
  closest_to_input: keepsTrees(),
  probabilities: details().probabilities,
  information: details().probabilities && view.order === "information",
  ...more,
});

/** What the tree in view is compared with. */
export const comparison = () => {
  if (view.compare === "other") return details().projective ? "nonprojective" : "projective";
  return view.compare || (view.rank > 1 ? "best" : null);
};

export const remember = (index, one) => parsed.set(index, {
  heads: one.heads, deprels: one.deprels, sure: one.head_probabilities ?? null, information: one.information ?? null,
});
