"use strict";
// The page is whole without this script; it adds search, filters, order, keys and the colour switch.
(() => {
  const byId = (name) => document.getElementById(name);
  const main = document.querySelector("main");
  const articles = [...main.children];
  const search = byId("search"), order = byId("order"), theme = byId("theme");
  const filters = [...document.querySelectorAll("[data-filter]")];
  const texts = new Map();
  const number = (article, key) => Number(article.dataset[key] ?? Infinity);

  const textOf = (article) => {
    if (!texts.has(article)) texts.set(article, article.textContent.toLowerCase());
    return texts.get(article);
  };

  function show() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const keys = filters.filter((box) => box.checked).map((box) => box.dataset.filter);
    let shown = 0;
    for (const article of articles) {
      const fits = keys.every((key) => key in article.dataset)
        && wanted.every((word) => textOf(article).includes(word));
      article.hidden = !fits;
      shown += fits;
    }
    const total = articles.length.toLocaleString("en");
    byId("count").textContent = shown === articles.length
      ? `${total} sentences` : `${shown.toLocaleString("en")} of ${total} sentences`;
  }

  function arrange() {
    const by = {
      certain: (a, b) => number(a, "chance") - number(b, "chance"),
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

  function switchTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  const keys = {
    "/": () => search.focus(),
    j: () => step(1),
    k: () => step(-1),
    n: () => byId("nonprojective").click(),
    t: switchTheme,
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement === search) {
      search.value = "";
      show();
      search.blur();
    }
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)
      && document.activeElement.type !== "checkbox";
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
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
  theme.addEventListener("click", switchTheme);
  document.querySelector(".controls").hidden = false;
  show();
})();
