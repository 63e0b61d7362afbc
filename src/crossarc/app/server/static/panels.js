// What stands beside and below the tree: candidate heads, relations, hints, the table of words.
import { percent } from "./drawing.js";
import { element } from "./list.js";

const byId = (name) => document.getElementById(name);
const formOf = (answer, word) => (word ? answer.forms[word - 1] : "root");

/** The word that is chosen: its candidate heads and its relation. */
export const showWord = (answer, edits, word, relations, actions) => {
  byId("relation-line").hidden = !word;
  const list = byId("candidates");
  if (!word) {
    byId("word-name").textContent = "No word";
    byId("word-note").textContent = "Choose a word in the tree, by a click or with the arrow keys.";
    list.replaceChildren();
    return;
  }
  const index = word - 1, head = answer.heads[index];
  byId("word-name").textContent = answer.forms[index];
  const about = [answer.upos[index], answer.lemmas[index], answer.feats[index]];
  const settled = word in edits.heads ? "You settled its head." : "";
  byId("word-note").textContent = `${about.filter((one) => one !== "_").join(" · ")}. ${settled}`;
  const excluded = edits.forbidden.filter(([, m]) => m === word).map(([h]) => h);
  const probability = answer.head_probabilities?.[index] ?? null;
  const candidates = answer.candidates?.[index] ?? [{ head, deprel: answer.deprels[index], probability }];
  list.replaceChildren(
    ...candidates.filter((one) => !excluded.includes(one.head)).map((one, rank) =>
      candidate(answer, word, { ...one, rank, own: one.head === head, settled: one.head === edits.heads[word] }, actions)),
    ...excluded.map((one) => excludedHead(answer, word, one, actions)),
  );
  showRelations(answer, word, relations);
};

const candidate = (answer, word, { head, probability, deprel, rank, own, settled }, actions) => {
  const row = element("li", settled ? "settled" : "");
  const button = element("button", "head");
  button.type = "button";
  button.setAttribute("aria-pressed", own);
  const bar = element("span", "bar");
  bar.style.width = `${100 * (probability ?? 0)}%`;
  const share = probability === null ? "" : percent(probability);
  button.append(bar, element("span", "digit", rank < 9 ? String(rank + 1) : ""),
    element("span", "form", formOf(answer, head)), element("span", "relation", deprel), element("span", "", share));
  button.addEventListener("click", () => actions.attach(word, head));
  const forbid = element("button", "", "✕");
  forbid.type = "button";
  forbid.title = own ? "Forbid this head (x)" : "Forbid this head";
  forbid.setAttribute("aria-label", `Forbid ${formOf(answer, head)} as head`);
  forbid.hidden = probability === null;
  forbid.addEventListener("click", () => actions.forbid(word, head));
  row.append(button, forbid);
  return row;
};

const excludedHead = (answer, word, head, actions) => {
  const row = element("li", "excluded");
  const allow = element("button", "head");
  allow.type = "button";
  allow.append(element("span", "form", formOf(answer, head)), element("span", "relation", "allow again"));
  allow.addEventListener("click", () => actions.allow(word, head));
  row.append(allow);
  return row;
};

/** All relations, the most probable first. */
const showRelations = (answer, word, relations) => {
  const own = answer.deprels[word - 1];
  const probable = answer.relations?.[word - 1] ?? [];
  const named = new Set(probable.map((one) => one.deprel));
  const rest = [...new Set([own, ...relations])].filter((one) => !named.has(one)).sort();
  const option = (name, text) => new Option(text, name, name === own, name === own);
  byId("relation").replaceChildren(
    ...probable.map((one) => option(one.deprel, `${one.deprel}  ${percent(one.probability)}`)),
    ...rest.map((name) => option(name, name)));
};

/** What is special about the tree, in badges and in a line. */
export const showFacts = (answer, { rank, compare, scores }) => {
  const badges = [];
  if (answer.nonprojective.length) badges.push(element("span", "badge crossing", "non-projective"));
  if (rank > 1) badges.push(element("span", "badge", `tree ${rank}`));
  byId("badges").replaceChildren(...badges);
  const facts = [];
  const share = (logProb) => `${(100 * Math.exp(logProb)).toPrecision(3)}%`;
  if (answer.log_prob !== null) facts.push(`Probability of these heads: ${share(answer.log_prob)}`);
  if (answer.entropy !== undefined) facts.push(`entropy: ${answer.entropy.toFixed(2)} nats`);
  if (compare && answer.compared) {
    const different = answer.heads.filter((head, index) => head !== answer.compared.heads[index]).length;
    facts.push(["the heads are the same", "1 head differs"][different] ?? `${different} heads differ`);
    if (different && compare !== "input") facts.push(`the other heads: ${share(answer.compared.log_prob)}`);
  }
  if (scores) facts.push(scores);
  byId("facts").textContent = facts.length ? `${facts.join("; ")}.` : "";
};

export const showHints = (answer, choose) => {
  byId("hints").replaceChildren(...(answer.hints ?? []).map(({ word, message }) => {
    const row = element("li");
    const button = element("button", "", `${answer.forms[word - 1]}: ${message}`);
    button.type = "button";
    button.addEventListener("click", () => choose(word));
    row.append(button);
    return row;
  }));
};

const FIELDS = [["lemmas", "Lemma"], ["upos", "UPOS"], ["xpos", "XPOS"], ["feats", "Features"]];

/** The words as a table whose cells can be changed. */
export const showTable = (answer, word, { relations, tags }) => {
  const table = byId("words");
  const head = element("tr");
  const titles = ["", "Form", ...FIELDS.map(([, title]) => title), "Head", "Relation", "Sure"];
  head.append(...titles.map((title) => Object.assign(element("th", "", title), { scope: "col" })));
  const top = element("thead"), body = element("tbody");
  top.append(head);
  body.append(...answer.forms.map((form, index) => tableRow(answer, index, form, word)));
  table.replaceChildren(top, body, options("relation-names", relations), options("tag-names", tags));
};

const options = (id, names) => {
  const list = Object.assign(element("datalist"), { id });
  list.append(...names.map((name) => new Option(name)));
  return list;
};

const tableRow = (answer, index, form, word) => {
  const row = element("tr", index + 1 === word ? "chosen" : "");
  row.dataset.row = index + 1;
  const cell = (name, value, list, className = "") => {
    const input = Object.assign(element("input", className), { value });
    input.dataset.column = name;
    input.setAttribute("aria-label", `${name} of ${form}`);
    if (list) input.setAttribute("list", list);
    const box = element("td");
    box.append(input);
    return box;
  };
  const title = Object.assign(element("th", "", form), { scope: "row", dir: "auto" });
  const sure = answer.head_probabilities ? percent(answer.head_probabilities[index]) : "";
  row.append(element("td", "soft", String(index + 1)), title,
    ...FIELDS.map(([name]) => cell(name, answer[name][index], name === "upos" ? "tag-names" : "")),
    cell("heads", answer.heads[index], "", "short"), cell("deprels", answer.deprels[index], "relation-names"),
    element("td", "", sure));
  return row;
};

/** The document's least certain words. */
export const showDoubts = (doubts, current, describe, go) => {
  byId("doubts").replaceChildren(...doubts.map((doubt, index) => {
    const row = element("li");
    const button = element("button");
    button.type = "button";
    const isCurrent = current && doubt.sentence === current.sentence && doubt.word === current.word;
    if (isCurrent) button.setAttribute("aria-current", "true");
    button.append(element("span", "soft", String(doubt.sentence + 1)),
      Object.assign(element("span", "form", describe(doubt)), { dir: "auto" }),
      element("span", "share", percent(doubt.probability)));
    button.addEventListener("click", () => go(index));
    row.append(button);
    return row;
  }));
  byId("doubts").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
};
