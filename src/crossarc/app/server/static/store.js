// The document and what a person did to it: edits with undo, kept in the browser.
import { hasTree, readMarks, withColumns } from "./conllu.js";

const EDITS = "crossarc.edits", VIEW = "crossarc.view";

export const noEdits = () => ({ heads: {}, forbidden: [], labels: {}, columns: null });

export const isEdited = (edits) => Boolean(edits) && (Object.keys(edits.heads).length > 0
  || edits.forbidden.length > 0 || Object.keys(edits.labels).length > 0 || edits.columns !== null);

export class Store {
  /** @param {(index: number | null) => void} changed called with the sentence whose edits changed */
  constructor(changed) {
    this.changed = changed;
    this.reset({ name: "", blocks: [] });
  }

  reset({ name, blocks, edits = {}, id = `${Date.now()}-${Math.random()}` }) {
    this.name = name;
    this.id = id;
    this.blocks = blocks;
    this.edits = new Map(Object.entries(edits).map(([index, own]) => [Number(index), own]));
    this.done = [];
    this.undone = [];
    this.hasTrees = blocks.length > 0 && blocks.every(hasTree);
  }

  /** A new document; the one before is kept, for `takeBack`. */
  async open(name, blocks) {
    const edits = {};
    const plain = blocks.map((block, index) => {
      const read = readMarks(block);
      if (isEdited(read.edits)) edits[index] = read.edits;
      return read.block;
    });
    const before = this.blocks.length ? this.saved() : null;
    this.reset({ name, blocks: plain, edits });
    if (before) await write("before", before);
    await write("document", this.saved());
    this.saveEdits();
  }

  saved() {
    const { name, blocks, id } = this;
    return { name, blocks, id, edits: Object.fromEntries(this.edits) };
  }

  /** The document of the last visit, if there was one. */
  async restore() {
    const kept = await read("document");
    if (!kept) return false;
    const last = JSON.parse(localStorage.getItem(EDITS) ?? "{}");
    this.reset({ ...kept, edits: last.id === kept.id ? last.edits : kept.edits });
    return kept.blocks.length > 0;
  }

  async hasBefore() {
    return Boolean(await read("before"));
  }

  async takeBack() {
    const before = await read("before");
    await write("before", this.saved());
    this.reset(before);
    await write("document", before);
    this.saveEdits();
  }

  editsOf(index) {
    return this.edits.get(index) ?? noEdits();
  }

  /** The sentence with the columns that were edited. */
  source(index) {
    const { columns } = this.editsOf(index);
    return columns ? withColumns(this.blocks[index], columns) : this.blocks[index];
  }

  constraints(index) {
    const { heads, forbidden, labels } = this.editsOf(index);
    return { heads, forbidden, labels };
  }

  /** Change the edits of a sentence, so that it can be undone. */
  edit(index, change) {
    const before = this.editsOf(index);
    const after = structuredClone(before);
    change(after);
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    this.done.push({ index, before, after });
    this.undone = [];
    this.use(index, after);
  }

  undo() {
    const step = this.done.pop();
    if (!step) return null;
    this.undone.push(step);
    this.use(step.index, step.before);
    return step.index;
  }

  redo() {
    const step = this.undone.pop();
    if (!step) return null;
    this.done.push(step);
    this.use(step.index, step.after);
    return step.index;
  }

  use(index, edits) {
    if (isEdited(edits)) this.edits.set(index, edits);
    else this.edits.delete(index);
    this.saveEdits();
    this.changed(index);
  }

  // Edits are small and are written at once, so that a reload loses none.
  saveEdits() {
    try {
      localStorage.setItem(EDITS, JSON.stringify({ id: this.id, edits: Object.fromEntries(this.edits) }));
    } catch {
      write("document", this.saved());
      localStorage.removeItem(EDITS);
    }
  }
}

/** Tell when another tab of the browser changes the same document. */
export const watchOthers = (tell) => addEventListener("storage", (event) => event.key === EDITS && tell());

export const saveView = (view) => localStorage.setItem(VIEW, JSON.stringify(view));
export const savedView = () => JSON.parse(localStorage.getItem(VIEW) ?? "{}");

// A document may be larger than local storage allows, so it is in IndexedDB.
const database = new Promise((resolve, reject) => {
  const request = indexedDB.open("crossarc", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("documents");
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

const transact = async (mode, act) => {
  const store = (await database).transaction("documents", mode).objectStore("documents");
  const request = act(store);
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
};

const read = (key) => transact("readonly", (store) => store.get(key)).catch(() => null);
const write = (key, value) => transact("readwrite", (store) => store.put(value, key)).catch(() => null);
