// The tree as an instrument: words and arcs can be chosen, looked at and dragged.

const SVG = "http://www.w3.org/2000/svg";
const UNSURE = 0.9, LEAST_SHOWN = 0.01, DRAG_FROM = 6;

const make = (tag, attributes, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

export const percent = (probability) => `${Math.round(100 * probability)}%`;

export class Drawing {
  /**
   * @param {HTMLElement} box holds the drawing
   * @param {{choose: Function, edit: Function, attach: Function}} actions on words: chosen, opened
   *   for editing, and attached to a head
   */
  constructor(box, actions) {
    Object.assign(this, { box, actions, answer: null, word: 0, drag: null });
    box.addEventListener("pointerover", (event) => this.look(this.wordAt(event.target)));
    box.addEventListener("pointerleave", () => this.look(0));
    box.addEventListener("click", (event) => {
      const word = this.wordAt(event.target);
      if (word) actions.choose(word);
    });
    box.addEventListener("dblclick", (event) => {
      const word = this.wordAt(event.target);
      if (word) actions.edit(word);
    });
    box.addEventListener("focusin", (event) => {
      const word = this.wordAt(event.target);
      if (word && word !== this.word) actions.choose(word);
    });
    box.addEventListener("pointerdown", (event) => this.begin(event));
    box.addEventListener("pointermove", (event) => this.move(event));
    addEventListener("pointerup", (event) => this.end(event));
    addEventListener("keydown", (event) => event.key === "Escape" && this.stop());
  }

  wordAt(target) {
    return Number(target.closest?.("[data-word]")?.dataset.word ?? 0);
  }

  node(word) {
    return this.box.querySelector(`.node[data-word="${word}"]`);
  }

  /** Show an answer of the server; words that a person settled are marked. */
  show(answer, edits) {
    this.answer = answer;
    this.box.innerHTML = answer.drawing;
    const svg = this.box.querySelector("svg");
    // What is in a role of "img" cannot be reached.
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", `Tree of: ${answer.text}`);
    svg.querySelector("desc")?.remove();
    svg.querySelector(":scope > title")?.remove();
    this.looks = make("g", { class: "looks", "aria-hidden": "true" });
    svg.querySelector(".paper").after(this.looks);
    for (const node of svg.querySelectorAll(".node[data-word]")) this.prepare(node, edits);
    for (const arc of svg.querySelectorAll(".arc[data-word]")) {
      arc.setAttribute("aria-hidden", "true");
      const own = Number(arc.dataset.head) === answer.heads[arc.dataset.word - 1];
      arc.classList.toggle("settled", own && Number(arc.dataset.word) in edits.heads);
    }
    this.mark();
  }

  prepare(node, edits) {
    const word = Number(node.dataset.word), index = word - 1;
    const { forms, upos, heads, deprels, head_probabilities: sure } = this.answer;
    node.setAttribute("role", "button");
    node.setAttribute("tabindex", "-1");
    const head = heads[index] ? forms[heads[index] - 1] : "the root";
    const settled = word in edits.heads;
    // What is seen comes first in what is heard; lemma and features are beside the tree.
    node.querySelector("title")?.remove();
    for (const part of [...node.children]) part.after(" ");
    const seen = [forms[index], upos[index] === "_" ? "" : upos[index], sure ? percent(sure[index]) : ""];
    const about = `${deprels[index]} of ${head}${settled ? ", settled" : ""}`;
    node.setAttribute("aria-label", `${seen.filter(Boolean).join(" ")}, ${about}`);
    node.classList.toggle("settled", settled);
    node.classList.toggle("unsure", Boolean(sure) && !settled && sure[index] < UNSURE);
    const box = node.getBBox();
    node.prepend(make("rect", {
      class: "hit", x: box.x - 4, y: box.y - 2, width: box.width + 8, height: box.height + 4, rx: 4,
    }));
  }

  /** Mark the chosen word. */
  mark(word = this.word) {
    this.word = word;
    for (const one of this.box.querySelectorAll("[data-word]")) {
      const own = Number(one.dataset.word) === word;
      one.classList.toggle("chosen", own);
      if (one.classList.contains("node")) {
        one.setAttribute("tabindex", own || (!word && one.dataset.word === "1") ? "0" : "-1");
        one.setAttribute("aria-pressed", own);
      }
    }
    this.look(word);
  }

  focus(word) {
    this.node(word)?.focus({ preventScroll: true });
    this.node(word)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Light up the candidate heads of a word, as far as they are probable. */
  look(word) {
    const shown = word || this.word;
    if (!this.looks || this.drag?.line) return;
    this.looks.replaceChildren();
    if (!shown || !this.answer.candidates || !this.node(shown)) return;
    for (const { head, probability } of this.answer.candidates[shown - 1]) {
      if (probability < LEAST_SHOWN) continue;
      if (head) this.light(shown, head, probability);
      else this.lightRoot(shown, probability);
    }
  }

  light(word, head, probability) {
    const box = this.node(head)?.getBBox();
    if (!box) return;
    this.looks.append(make("rect", {
      class: "candidate-head", x: box.x - 2, y: box.y, width: box.width + 4, height: box.height, rx: 4,
      "fill-opacity": (0.12 + 0.5 * probability).toFixed(2),
    }));
    if (this.answer.heads[word - 1] === head) return;
    const own = this.node(word).getBBox();
    const [x1, x2] = [box.x + box.width / 2, own.x + own.width / 2];
    const [y1, y2] = [box.y, own.y];
    const isSameLine = Math.abs(y1 - y2) < 4;
    const height = isSameLine ? Math.min(60, 14 + Math.abs(x2 - x1) / 6) : 0;
    if (isSameLine) this.looks.append(make("path", {
      class: "candidate-arc", d: `M${x1} ${y1}C${x1} ${y1 - height} ${x2} ${y2 - height} ${x2} ${y2}`,
      "stroke-width": (1 + 2 * probability).toFixed(2),
    }));
    this.looks.append(make("text", {
      class: "candidate-label", x: isSameLine ? (x1 + x2) / 2 : x1, y: y1 - 0.75 * height - 4,
    }, percent(probability)));
  }

  lightRoot(word, probability) {
    if (this.answer.heads[word - 1] === 0) return;
    const own = this.node(word).getBBox();
    this.looks.append(make("text", {
      class: "candidate-label", x: own.x + own.width / 2, y: own.y - 4,
    }, `root ${percent(probability)}`));
  }

  // A word is dragged onto its new head. A finger scrolls instead.
  begin(event) {
    const node = event.target.closest(".node[data-word]");
    if (!node || event.button !== 0 || event.pointerType === "touch") return;
    event.preventDefault();
    this.drag = { word: Number(node.dataset.word), x: event.clientX, y: event.clientY, line: null };
  }

  move(event) {
    const { drag } = this;
    if (!drag) return;
    if (!drag.line && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_FROM) return;
    const svg = this.box.querySelector("svg");
    if (!drag.line) {
      drag.line = make("path", { class: "dragged" });
      svg.append(drag.line);
      this.box.classList.add("dragging");
    }
    const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const own = this.node(drag.word).getBBox();
    drag.line.setAttribute("d", `M${own.x + own.width / 2} ${own.y}L${here.x} ${here.y}`);
    const target = this.wordAt(document.elementFromPoint(event.clientX, event.clientY) ?? this.box);
    for (const node of this.box.querySelectorAll(".node")) {
      node.classList.toggle("target", Number(node.dataset.word) === target && target !== drag.word);
    }
  }

  end(event) {
    const { drag } = this;
    const wasDragged = Boolean(drag?.line);
    this.stop();
    if (!drag) return;
    const target = document.elementFromPoint(event.clientX, event.clientY);
    const head = target ? this.wordAt(target) : 0;
    if (wasDragged && head && head !== drag.word && target.closest(".node")) {
      this.actions.attach(drag.word, head);
    } else if (!wasDragged) {
      this.node(drag.word)?.focus({ preventScroll: true });
    }
  }

  stop() {
    this.drag?.line?.remove();
    this.drag = null;
    this.box.classList.remove("dragging");
    for (const node of this.box.querySelectorAll(".target")) node.classList.remove("target");
  }
}

/** The probability of every arc as squares; gives the arc below a point. */
export const heatMap = (canvas, answer) => {
  const n = answer.forms.length;
  const cell = Math.max(6, Math.min(22, Math.floor(900 / (n + 1))));
  const colour = (name) => getComputedStyle(canvas).getPropertyValue(name).trim();
  const context = canvas.getContext("2d");
  const size = Math.max(8, Math.min(12, cell - 2));
  context.font = `${size}px sans-serif`;
  const rows = ["root", ...answer.forms];
  const left = Math.min(110, Math.max(...rows.map((form) => context.measureText(form).width))) + 8;
  const scale = devicePixelRatio || 1;
  const [width, height] = [left + n * cell + 1, left + (n + 1) * cell + 1];
  Object.assign(canvas, { width: width * scale, height: height * scale });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  context.scale(scale, scale);
  context.font = `${size}px sans-serif`;
  context.textBaseline = "middle";
  context.fillStyle = colour("--ink");
  context.textAlign = "right";
  rows.forEach((form, row) => context.fillText(form, left - 4, left + (row + 0.5) * cell, left - 8));
  answer.forms.forEach((form, column) => {
    context.save();
    context.translate(left + (column + 0.5) * cell, left - 4);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(form, 0, 0, left - 8);
    context.restore();
  });
  context.strokeStyle = colour("--edge");
  context.strokeRect(left, left, n * cell, (n + 1) * cell);
  answer.marginals.forEach((row, head) => row.forEach((probability, column) => {
    if (probability >= 0.001) {
      context.globalAlpha = Math.sqrt(probability);
      context.fillStyle = colour("--accent");
      context.fillRect(left + column * cell, left + head * cell, cell, cell);
      context.globalAlpha = 1;
    }
    if (answer.heads[column] === head) {
      context.strokeStyle = colour("--crossing");
      context.strokeRect(left + column * cell + 0.5, left + head * cell + 0.5, cell - 1, cell - 1);
    }
  }));
  return (event) => {
    const box = canvas.getBoundingClientRect();
    const word = Math.floor((event.clientX - box.left - left) / cell) + 1;
    const head = Math.floor((event.clientY - box.top - left) / cell);
    return word >= 1 && word <= n && head >= 0 && head <= n && head !== word ? { word, head } : null;
  };
};
