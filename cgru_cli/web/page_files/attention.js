// The attention of one sentence as links between its words.
//
// A unit {text, pieces} is a word or a piece of the model. sides: {source, target}, lists of units;
// weight(t, s): the attention of unit t of the translation over unit s of the text.

import { element } from "./element.js";
import { direction } from "./text.js";

const SHOWN = 0.08; // links with less weight are hidden, unless their word is highlighted
const SVG = "http://www.w3.org/2000/svg";

// look(side, pieces) highlights words of a side and the words aligned with them; side null: none.
// Returns a function (side, source, target) that highlights units by their weights on both sides.
export function drawLinks(holder, { sides, weight, look }) {
  const top = row(sides.source, "source", look);
  const bottom = row(sides.target, "target", look);
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("aria-hidden", "true");
  const links = element("div", { className: "links" }, top, picture, bottom);
  holder.replaceChildren(links);
  const paths = [];
  sides.target.forEach((_, t) => sides.source.forEach((_, s) => {
    const value = weight(t, s);
    if (value < SHOWN / 2) return;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("stroke-opacity", value < SHOWN ? 0 : value.toFixed(3));
    picture.append(path);
    paths.push({ path, s, t, value });
  }));
  const place = () => {
    const box = picture.getBoundingClientRect();
    const middle = (word) => {
      const of = word.getBoundingClientRect();
      return of.left + of.width / 2 - box.left;
    };
    const from = Array.from(top.children, middle);
    const to = Array.from(bottom.children, middle);
    for (const { path, s, t } of paths) {
      const h = box.height;
      path.setAttribute("d", `M${from[s]} 0C${from[s]} ${h / 2} ${to[t]} ${h / 2} ${to[t]} ${h}`);
    }
  };
  new ResizeObserver(place).observe(links);
  place();
  return (side, source, target) => {
    links.classList.toggle("looking", side !== null);
    light(top.children, source);
    light(bottom.children, target);
    for (const { path, s, t, value } of paths) {
      const lit = side === "source" ? source[s] === 1 : side === "target" && target[t] === 1;
      path.classList.toggle("lit", lit);
      path.setAttribute("stroke-opacity", !lit && value < SHOWN ? 0 : value.toFixed(3));
    }
  };
}

function row(units, side, look) {
  const dir = direction(units.map(({ text }) => text).join(" "));
  const made = element("div", { className: "row", dir });
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", side === "source" ? "Words of the text" : "Words of the translation");
  for (const { text, pieces } of units) {
    const button = element("button",
      { type: "button", className: "word", dir: "auto", tabIndex: -1, textContent: text });
    looked(button, (on) => look(on ? side : null, pieces));
    made.append(button);
  }
  arrows(made);
  firstStop(made);
  return made;
}

// Calls look(true) when an element is pointed at or focused, and look(false) when that ends.
export function looked(word, look) {
  for (const name of ["pointerenter", "focus"]) word.addEventListener(name, () => look(true, name));
  for (const name of ["pointerleave", "blur"]) word.addEventListener(name, () => look(false, name));
}

export function light(words, weights) {
  Array.from(words).forEach((word, index) => {
    word.classList.toggle("lit", weights[index] > 0);
    word.style.setProperty("--weight", weights[index]);
  });
}

// A row of words is one tab stop; arrow keys move between the words.
export function arrows(row) {
  row.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".word")) return;
    for (const word of row.querySelectorAll('.word[tabindex="0"]')) word.tabIndex = -1;
    target.tabIndex = 0;
  });
  row.addEventListener("keydown", (event) => {
    const words = Array.from(row.querySelectorAll(".word"));
    const at = words.indexOf(document.activeElement);
    const back = getComputedStyle(document.activeElement.parentElement).direction === "rtl" ? 1 : -1;
    const step = { ArrowLeft: back, ArrowRight: -back }[event.key];
    const next = { Home: 0, End: words.length - 1 }[event.key] ?? (step && at + step);
    if (at < 0 || next === undefined || !words[next]) return;
    event.preventDefault();
    words[next].focus();
  });
}

// Makes the first word of a row its tab stop, if the row has none.
export function firstStop(row) {
  const first = row.querySelector('.word[tabindex="0"]') ?? row.querySelector(".word");
  if (first) first.tabIndex = 0;
}
