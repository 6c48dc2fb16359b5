// The attention of one sentence: links between its words, or a heat map.

import { element } from "./text.js";

const SHOWN = 0.08; // links with less weight are hidden, unless their word is highlighted
const SVG = "http://www.w3.org/2000/svg";

// `spotlight.look(side, index)` highlights a word and the words aligned with it; null: none.
export function drawLinks(holder, line, spotlight) {
  const { source, target, weights } = shown(line);
  const top = row(source, "source", spotlight);
  const bottom = row(target, "target", spotlight);
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("aria-hidden", "true");
  const links = element("div", { className: "links" }, top, picture, bottom);
  holder.replaceChildren(links);
  const paths = [];
  weights.forEach((of, t) => of.forEach((weight, s) => {
    if (weight < SHOWN / 2) return;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("stroke-opacity", weight < SHOWN ? 0 : weight.toFixed(3));
    picture.append(path);
    paths.push({ path, s, t, weight });
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
  return (side, index) => {
    links.classList.toggle("looking", side !== null);
    light(top.children, (s) => (side === "source" ? +(s === index) : weights[index]?.[s]), side);
    light(bottom.children, (t) => (side === "target" ? +(t === index) : weights[t]?.[index]), side);
    for (const { path, s, t, weight } of paths) {
      const lit = side === "source" ? s === index : side === "target" && t === index;
      path.classList.toggle("lit", lit);
      path.setAttribute("stroke-opacity", !lit && weight < SHOWN ? 0 : weight.toFixed(3));
    }
  };
}

export function drawMap(holder, line) {
  const { source, target, weights } = shown(line);
  const corner = element("td", { className: "unseen" });
  const head = element("tr", {}, corner, ...source.map((word) =>
    element("th", { scope: "col" }, element("span", { dir: "auto", textContent: word }))));
  const rows = target.map((word, t) => {
    const cells = source.map((_, s) => {
      const percent = `${Math.round(100 * (weights[t]?.[s] ?? 0))} %`;
      const cell = element("td", { title: `${word} ← ${source[s]}: ${percent}` },
        element("span", { textContent: percent }));
      cell.style.setProperty("--weight", weights[t]?.[s] ?? 0);
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row", dir: "auto", textContent: word }),
      ...cells);
  });
  const caption = element("caption", { className: "unseen",
    textContent: "Attention of each word of the translation over the words of the text" });
  holder.replaceChildren(element("table", {}, caption, element("thead", {}, head),
    element("tbody", {}, ...rows)));
  const heads = [head.querySelectorAll("th"), holder.querySelectorAll("tbody th")];
  return (side, index) => {
    heads[0].forEach((th, s) => th.classList.toggle("lit", side === "source" && s === index));
    heads[1].forEach((th, t) => th.classList.toggle("lit", side === "target" && t === index));
  };
}

// Words of both sides, and weights: a row for each word of the translation.
function shown({ line, hypothesis }) {
  const target = hypothesis.finished ? [...hypothesis.words, "</s>"] : hypothesis.words;
  return { source: line.source, target, weights: hypothesis.alignment ?? [] };
}

function row(words, side, spotlight) {
  const made = element("div", { className: "row", dir: "auto" });
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", side === "source" ? "Words of the text" : "Words of the translation");
  words.forEach((word, index) => {
    const button = element("button", { type: "button", className: "word", textContent: word });
    button.addEventListener("pointerenter", () => spotlight.look(side, index));
    button.addEventListener("pointerleave", () => spotlight.look(null));
    button.addEventListener("focus", () => spotlight.look(side, index));
    button.addEventListener("blur", () => spotlight.look(null));
    made.append(button);
  });
  arrows(made);
  return made;
}

function light(words, weight, side) {
  Array.from(words).forEach((word, index) => {
    const value = side === null ? 0 : weight(index) ?? 0;
    word.classList.toggle("lit", value >= 0.02);
    word.style.setProperty("--weight", value);
  });
}

// A row of words is one tab stop; arrow keys move between the words.
export function arrows(row, selector = ".word") {
  const words = Array.from(row.querySelectorAll(selector));
  words.forEach((word, index) => { word.tabIndex = index ? -1 : 0; });
  row.onkeydown = (event) => {
    const at = words.indexOf(document.activeElement);
    const back = getComputedStyle(row).direction === "rtl" ? 1 : -1;
    const step = { ArrowLeft: back, ArrowRight: -back }[event.key];
    const next = { Home: 0, End: words.length - 1 }[event.key] ?? (step && at + step);
    if (at < 0 || next === undefined || !words[next]) return;
    event.preventDefault();
    words[at].tabIndex = -1;
    words[next].tabIndex = 0;
    words[next].focus();
  };
}
