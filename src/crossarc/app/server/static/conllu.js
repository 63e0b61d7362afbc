// CoNLL-U in the page: blocks of a file, their words, and columns written back.

export const COLUMNS = { forms: 1, lemmas: 2, upos: 3, xpos: 4, feats: 5, heads: 6, deprels: 7, misc: 9 };

const WORD = /^[1-9][0-9]*\t/;

export const isConllu = (text) => {
  const line = text.split(/\r?\n/).find((one) => one.trim() && !one.startsWith("#"));
  return Boolean(line) && line.split("\t").length === 10;
};

/** The sentences of a file, each without the blank line that ends it. */
export const splitBlocks = (text) => text.replace(/^\ufeff/, "").replace(/\r\n/g, "\n")
  .split(/\n[ \t]*(?:\n[ \t]*)+/).map((block) => block.replace(/^\n+|\n+$/g, ""))
  .filter((block) => block.split("\n").some((line) => WORD.test(line)));

export const words = (block) => block.split("\n").filter((line) => WORD.test(line))
  .map((line) => line.split("\t"));

/** The text of a sentence, for lists. */
export const textOf = (block) => {
  const found = /^#\s*text\s*=\s*(.*)$/m.exec(block);
  return found ? found[1] : words(block).map((row) => row[COLUMNS.forms]).join(" ");
};

export const nameOf = (block) => /^#\s*sent_id\s*=\s*(.*)$/m.exec(block)?.[1] ?? "";

export const hasTree = (block) => words(block).every((row) => /^[0-9]+$/.test(row[COLUMNS.heads]));

/** A block with columns of its words replaced: arrays by name. */
export const withColumns = (block, columns) => {
  let word = 0;
  return block.split("\n").map((line) => {
    if (!WORD.test(line)) return line;
    const row = line.split("\t");
    for (const [name, values] of Object.entries(columns)) row[COLUMNS[name]] = values[word];
    word += 1;
    return row.join("\t");
  }).join("\n");
};

/** What a person decided earlier, in MISC: words that are reviewed, and heads that are excluded. */
export const readMarks = (block) => {
  const edits = { heads: {}, forbidden: [], labels: {}, columns: null };
  const misc = [];
  words(block).forEach((row, index) => {
    const kept = [];
    for (const entry of row[COLUMNS.misc].split("|")) {
      const [name, value = ""] = entry.split("=");
      const head = Number(row[COLUMNS.heads]);
      if (name === "Reviewed" && Number.isInteger(head) && row[COLUMNS.heads] !== "") {
        edits.heads[index + 1] = head;
        if (row[COLUMNS.deprels] !== "_") edits.labels[index + 1] = row[COLUMNS.deprels];
      } else if (name === "NotHead") {
        edits.forbidden.push(...value.split(",").map((h) => [Number(h), index + 1]));
      } else kept.push(entry);
    }
    misc.push(kept.join("|") || "_");
  });
  return { block: withColumns(block, { misc }), edits };
};
