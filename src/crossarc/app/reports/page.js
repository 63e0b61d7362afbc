"use strict";
const banks = JSON.parse(document.getElementById("examples").textContent);
const dialog = document.getElementById("list");

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  made.dir = "auto";
  return made;
}

function note(bank, key) {
  const number = bank.numbers[key];
  const shown = number.list.length;
  const count = number.count.toLocaleString("en");
  const what = number.count === 1 ? "sentence" : "sentences";
  if (shown === number.count) return `${bank.name}: ${count} ${what}`;
  return `${bank.name}: the first ${shown} of ${count} ${what}. ` +
    `crossarc analyze FILE --show "${key}" lists all.`;
}

document.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
  const button = event.target.closest("button[data-key]");
  if (!button) return;
  const bank = banks[button.closest("[data-bank]").dataset.bank];
  const number = bank.numbers[button.dataset.key];
  dialog.querySelector("h2").textContent = number.title;
  dialog.querySelector(".note").textContent = note(bank, button.dataset.key);
  dialog.querySelector("ol").replaceChildren(...number.list.map(([place, ...lost]) => {
    const [name, text] = bank.sentences[place];
    const item = element("li", "");
    item.append(element("code", name), element("p", text), ...lost.map((arc) => element("span", arc)));
    return item;
  }));
  dialog.showModal();
  dialog.scrollTop = 0;
});
