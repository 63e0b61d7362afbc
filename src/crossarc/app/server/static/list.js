// A list of any number of rows, of which those in view are in the page.

const AHEAD = 6;

export class VirtualList {
  /**
   * @param {HTMLElement} box scrolls; a listbox
   * @param {(index: number) => {text: string, badges: [string, string][]}} describe a row
   * @param {(index: number) => void} choose called when a row is chosen
   * @param {(first: number, last: number) => void} show called with the rows in view
   */
  constructor(box, describe, choose, show) {
    Object.assign(this, { box, describe, choose, show, count: 0, current: -1 });
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", "presentation");
    box.replaceChildren(this.space);
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("click", (event) => {
      const row = event.target.closest("[data-index]");
      if (row) choose(Number(row.dataset.index));
    });
    box.addEventListener("keydown", (event) => {
      const page = Math.max(1, Math.floor(box.clientHeight / this.height) - 1);
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      choose(Math.min(Math.max(this.current + step, 0), this.count - 1));
    });
  }

  get height() {
    return 3 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  reset(count) {
    this.count = count;
    this.box.scrollTop = 0;
    this.draw();
  }

  select(index) {
    this.current = index;
    const { box, height } = this;
    if (index * height < box.scrollTop) box.scrollTop = index * height;
    else if ((index + 1) * height > box.scrollTop + box.clientHeight) {
      box.scrollTop = (index + 1) * height - box.clientHeight;
    }
    this.draw();
  }

  draw() {
    const { box, space, height, count } = this;
    space.style.height = `${count * height}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / height) - AHEAD);
    const last = Math.min(count, Math.ceil((box.scrollTop + box.clientHeight) / height) + AHEAD);
    const rows = [];
    for (let index = first; index < last; index += 1) rows.push(this.row(index));
    space.replaceChildren(...rows);
    box.setAttribute("aria-activedescendant", this.current >= first && this.current < last ? `row${this.current}` : "");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show(first, last), 150);
  }

  row(index) {
    const { text, badges } = this.describe(index);
    const row = document.createElement("div");
    row.className = "row";
    row.id = `row${index}`;
    row.dataset.index = index;
    row.style.top = `${index * this.height}px`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-setsize", this.count);
    row.setAttribute("aria-posinset", index + 1);
    row.setAttribute("aria-selected", index === this.current);
    const number = element("span", "number", String(index + 1));
    const shown = element("span", "words", text);
    shown.dir = "auto";
    row.append(number, shown, ...badges.map(([kind, badge]) => element("span", `badge ${kind}`, badge)));
    return row;
  }
}

export const element = (tag, className, text = "") => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.textContent = text;
  return made;
};
