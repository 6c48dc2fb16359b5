// The heat map of the attention of one sentence, on the server's page and in files of --heatmap.
//
// Text goes in as text nodes only. A cell is at (row, column); column 0 is the probability.

import { element, percent } from "./element.js";

const END = "</s>";
const LONG = 60; // words of a side above which cells are small
const HINT = "Source words along the top, target words down the side, each with its probability. A "
  + "cell is the attention that its target word pays to its source word, in percent. Tap a cell, or "
  + "move through the cells with arrow keys, Home, End, Page Up and Page Down.";
const UPRIGHT = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const pen = document.createElement("canvas").getContext("2d");
const word = (text) => element("bdi", {}, text);

// A share with a decimal, or that there is none.
function exactly(share) {
  if (share === undefined) return "–";
  return share > 0 && share < 0.0005 ? "<0.1 %" : `${(100 * share).toFixed(1)} %`;
}

export class HeatMap {
  constructor() {
    this.grid = element("table", { role: "grid" });
    this.grid.setAttribute("aria-describedby", "heatmap-hint");
    this.frame = element("div", { className: "frame" }, this.grid);
    const scale = element("div", { className: "scale", role: "img",
      ariaLabel: "Shades from 0 to 100 percent" }, element("i"),
    ...[100, 50, 0].map((value) => element("span", { textContent: `${value} %` })));
    this.said = element("output", { className: "said", ariaLive: "polite", ariaAtomic: "true" });
    this.tip = element("div", { className: "tip", ariaHidden: "true", hidden: true });
    this.element = element("div", { className: "heatmap" },
      element("div", { className: "matrix" }, this.frame, scale),
      element("p", { className: "hint", id: "heatmap-hint", textContent: HINT }), this.said, this.tip);
    this.follow();
  }

  // Shows a matrix; the element must be in the page. name: of the grid, for programs that read it
  // out; weights: rows of target words; strongest: the places of their largest weights, before they were
  // rounded; probabilities: of target words, or null.
  show({ name, source, target, weights, strongest, probabilities, rightToLeft }) {
    this.shown = { source, target, weights, probabilities };
    this.strongest = strongest ?? weights.map((row) => row.indexOf(Math.max(...row)));
    this.row = 0;
    this.column = 1;
    const header = (words, j, scope) => element("th", {
      scope, className: j === words.length - 1 && words[j] === END ? "end" : "",
    });
    const top = element("tr", {},
      element("th", { scope: "col", className: "corner", ariaLabel: "Target word" }, "target"),
      element("th", { scope: "col", className: "probability", ariaLabel: "Probability" },
        word("prob.")));
    source.forEach((text, i) => {
      const cell = header(source, i, "col");
      cell.append(element("span", { className: UPRIGHT.test(text) ? "upright" : "" }, word(text)));
      top.append(cell);
    });
    const body = element("tbody");
    target.forEach((text, j) => {
      const side = header(target, j, "row");
      side.append(word(text));
      body.append(element("tr", {}, side, this.probability(j), ...this.cells(j)));
    });
    const { fontSize, fontFamily } = getComputedStyle(this.grid);
    pen.font = `${fontSize} ${fontFamily}`;
    const longest = Math.max(...["target", ...target].map((text) => pen.measureText(text).width));
    const style = this.element.style;
    style.setProperty("--words", `min(${Math.ceil(longest) + 16}px, 13rem, 34vw)`);
    style.setProperty("--columns", source.length);
    this.resize(Math.max(source.length, target.length) > LONG ? 18 : 28);
    this.frame.dir = rightToLeft ? "rtl" : "ltr";
    this.grid.ariaLabel = name;
    this.grid.replaceChildren(
      element("colgroup", {}, element("col", { className: "words" }),
        element("col", { className: "probability" })),
      element("thead", {}, top), body);
    style.setProperty("--head", `${top.offsetHeight}px`);
    this.cellAt(0, 1).tabIndex = 0;
    this.frame.scrollTo(0, 0);
    this.leave();
  }

  // The size of cells, in pixels.
  resize(size) {
    this.size = size;
    this.element.style.setProperty("--size", `${size}px`);
  }

  // Highlights words of both sides that have a weight; side null: none.
  light(side, ...weights) {
    const heads = [[...this.grid.tHead.rows[0].cells].slice(2),
      [...this.grid.tBodies[0].rows].map((row) => row.cells[0])];
    heads.forEach((list, of) => list.forEach((head, i) =>
      head.classList.toggle("lit", side !== null && weights[of][i] > 0)));
  }

  probability(j) {
    const share = this.shown.probabilities?.[j];
    const text = share === undefined ? "–" : percent(share);
    const cell = element("td", { className: "probability" }, text);
    cell.style.setProperty("--weight", share === undefined ? 0 : (100 * share).toFixed(1));
    return cell;
  }

  cells(j) {
    return this.shown.weights[j].map((weight, i) => {
      const cell = element("td", {}, String(Math.round(100 * weight)));
      cell.style.setProperty("--weight", (100 * weight).toFixed(1));
      if (weight > 0.55) cell.classList.add("strong");
      if (i === this.strongest[j]) cell.classList.add("strongest");
      return cell;
    });
  }

  cellAt(j, i) {
    return this.grid.tBodies[0].rows[j].cells[i + 1];
  }

  // Parts of what is said of a cell, in the line below and in the box beside it.
  about(j, i) {
    const { source, target, weights, probabilities } = this.shown;
    if (i === 0) {
      return { text: ["probability of ", word(target[j])], value: exactly(probabilities?.[j]) };
    }
    const most = this.strongest[j] === i - 1 ? " (its strongest)" : "";
    return { text: [word(target[j]), " attends to ", word(source[i - 1])],
      value: exactly(weights[j][i - 1]) + most };
  }

  clear() {
    for (const marked of this.grid.querySelectorAll(".here")) marked.classList.remove("here");
  }

  enter(cell) {
    const [j, i] = [cell.parentNode.sectionRowIndex, cell.cellIndex - 1];
    this.clear();
    cell.classList.add("here");
    cell.parentNode.cells[0].classList.add("here");
    if (i > 0) this.grid.tHead.rows[0].cells[i + 1].classList.add("here");
    const { text, value } = this.about(j, i);
    this.said.replaceChildren(...text, ": ", value);
    this.tip.replaceChildren(...this.about(j, i).text, element("br"), element("b", {}, value));
    this.beside(cell);
  }

  beside(cell) {
    this.tip.hidden = false;
    const box = cell.getBoundingClientRect();
    const own = this.tip.getBoundingClientRect();
    const above = box.top - own.height - 6;
    this.tip.style.top = `${above > 4 ? above : box.bottom + 6}px`;
    const middle = box.left + box.width / 2 - own.width / 2;
    this.tip.style.left = `${Math.max(4, Math.min(middle, innerWidth - own.width - 4))}px`;
  }

  // The pointer has gone: what has the focus is shown again, or nothing.
  leave() {
    this.tip.hidden = true;
    this.clear();
    if (this.grid.contains(document.activeElement)) this.enter(document.activeElement);
    else this.said.replaceChildren();
  }

  move(j, i) {
    this.cellAt(this.row, this.column).tabIndex = -1;
    [this.row, this.column] = [j, i];
    const cell = this.cellAt(j, i);
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.enter(cell);
  }

  press(event) {
    const rows = this.shown.target.length - 1;
    const columns = this.shown.source.length;
    const forwards = this.frame.dir === "rtl" ? -1 : 1;
    let { row: j, column: i } = this;
    switch (event.key) {
      case "ArrowUp": j -= 1; break;
      case "ArrowDown": j += 1; break;
      case "ArrowLeft": i -= forwards; break;
      case "ArrowRight": i += forwards; break;
      case "PageUp": j -= 10; break;
      case "PageDown": j += 10; break;
      case "Home": i = 0; if (event.ctrlKey) j = 0; break;
      case "End": i = columns; if (event.ctrlKey) j = rows; break;
      case "Escape": this.tip.hidden = true; return;
      default: return;
    }
    if (event.altKey || event.metaKey) return;
    event.preventDefault();
    this.move(Math.max(0, Math.min(j, rows)), Math.max(0, Math.min(i, columns)));
  }

  // Follows the keyboard, the pointer and the finger.
  follow() {
    const { grid, tip } = this;
    grid.addEventListener("keydown", (event) => this.press(event));
    grid.addEventListener("pointerover", (event) => {
      const cell = event.target.closest("td");
      if (cell) this.enter(cell);
      else this.leave();
    });
    grid.addEventListener("pointerleave", () => this.leave());
    grid.addEventListener("click", (event) => {
      const cell = event.target.closest("td");
      if (cell) this.move(cell.parentNode.sectionRowIndex, cell.cellIndex - 1);
    });
    grid.addEventListener("focusin", (event) => this.enter(event.target));
    grid.addEventListener("focusout", () => setTimeout(() => this.leave()));
    const scrolled = () => {
      if (tip.hidden) return;
      const focused = document.activeElement;
      if (grid.contains(focused) && focused.classList.contains("here")) this.beside(focused);
      else tip.hidden = true;
    };
    this.frame.addEventListener("scroll", scrolled);
    addEventListener("scroll", scrolled);
    addEventListener("resize", scrolled);
  }
}
