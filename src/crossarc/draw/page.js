"use strict";
// A page is whole without this script, which adds a colour switch, search and dialogs.
(() => {
  const byId = (name) => document.getElementById(name);
  const keys = {};
  window.crossarc = { keys };

  function switchTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  // Search, filters, order and keys of the articles in main.
  function gallery(controls) {
    const main = document.querySelector("main");
    const articles = [...main.children];
    const search = byId("search"), order = byId("order");
    const filters = [...controls.querySelectorAll("[data-filter]")];
    const texts = new Map();
    const number = (article, key) => Number(article.dataset[key] ?? Infinity);

    const textOf = (article) => {
      if (!texts.has(article)) texts.set(article, article.textContent.toLowerCase());
      return texts.get(article);
    };

    function show() {
      const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const required = filters.filter((box) => box.checked).map((box) => box.dataset.filter);
      let shown = 0;
      for (const article of articles) {
        const matches = required.every((key) => key in article.dataset)
          && terms.every((term) => textOf(article).includes(term));
        article.hidden = !matches;
        shown += matches;
      }
      const total = articles.length.toLocaleString("en");
      const noun = articles.length === 1 ? "sentence" : "sentences";
      byId("count").textContent = shown === articles.length
        ? `${total} ${noun}` : `${shown.toLocaleString("en")} of ${total} ${noun}`;
    }

    function arrange() {
      const by = {
        certain: (a, b) => number(a, "probability") - number(b, "probability"),
        length: (a, b) => number(b, "words") - number(a, "words"),
        differences: (a, b) => (Number(b.dataset.different) || 0) - (Number(a.dataset.different) || 0),
      }[order.value];
      main.append(...(by ? [...articles].sort(by) : articles));
    }

    function step(direction) {
      const visible = [...main.children].filter((article) => !article.hidden);
      if (!visible.length) return;
      const here = visible.indexOf(document.activeElement.closest?.("article"));
      const next = here < 0 ? 0 : Math.min(Math.max(here + direction, 0), visible.length - 1);
      visible[next].focus({ preventScroll: true });
      visible[next].scrollIntoView({ block: "start" });
    }

    Object.assign(keys, {
      "/": () => search.focus(),
      j: () => step(1),
      k: () => step(-1),
      n: () => byId("nonprojective").click(),
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      search.value = "";
      show();
      search.blur();
    });
    search.addEventListener("input", show);
    for (const box of filters) {
      box.parentElement.hidden = !articles.some((article) => box.dataset.filter in article.dataset);
      box.addEventListener("change", show);
    }
    for (const option of [...order.options]) {
      const key = option.dataset.needs;
      if (key && !articles.some((article) => key in article.dataset)) option.remove();
    }
    order.addEventListener("change", arrange);
    controls.hidden = false;
    show();
  }

  // Buttons with a data-key, inside an element with a data-bank, open the sentences of a number.
  function examples(dialog, banks) {
    const item = (bank, [index, ...lost]) => {
      const made = byId(`bank${bank}-${index}`).content.cloneNode(true).firstElementChild;
      for (const drawing of made.querySelectorAll("svg")) {
        const arcs = drawing.querySelectorAll(".arc");
        for (const word of lost) arcs[word - 1].classList.add("lost");
      }
      return made;
    };

    document.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
      const button = event.target.closest("button[data-key]");
      if (!button) return;
      const bank = button.closest("[data-bank]").dataset.bank;
      const number = banks[bank][button.dataset.key];
      dialog.querySelector("h2").textContent = number.title;
      dialog.querySelector(".note").textContent = number.note;
      dialog.querySelector("ol").replaceChildren(...number.list.map((one) => item(bank, one)));
      dialog.showModal();
      dialog.scrollTop = 0;
    });
  }

  keys.t = switchTheme;
  byId("theme").addEventListener("click", switchTheme);
  byId("theme").hidden = false;
  const controls = document.querySelector(".controls");
  if (controls) gallery(controls);
  const dialog = document.querySelector("dialog.examples");
  if (dialog) examples(dialog, JSON.parse(byId("data").textContent));

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)
      && document.activeElement.type !== "checkbox";
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key](event);
  });
})();
